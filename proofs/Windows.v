(** shift, diff and rolling: each row together with its neighbours (src/privjail/ops/rows/window.py). *)

From Coq Require Import List Arith Lia.
From PrivJail Require Import Distance Rows Slices.
Import ListNotations.

Section Windows.
Context {A : Type} (before after : nat).

(** A row of the result is what a row sees: up to [before] rows above it (the nearest first), and itself with up to
    [after] rows below it. Every column of the new table is a function of this. *)
Fixpoint seen_from (above l : list A) : list (list A * list A) :=
  match l with
  | [] => []
  | x :: l' => (firstn before above, firstn (S after) l) :: seen_from (x :: above) l'
  end.

Definition windows (l : list A) : list (list A * list A) := seen_from [] l.

(** Rows that stand at least [before] rows below a change do not see it. *)
Lemma change_above : forall l p above above',
  Within (before - length p) (before - length p) (seen_from (p ++ above) l) (seen_from (p ++ above') l).
Proof.
  induction l as [|x l IH]; intros p above above'.
  - eapply within_more; [| | apply within_same]; lia.
  - simpl. specialize (IH (x :: p) above above'). simpl in IH. destruct (le_lt_dec before (length p)) as [far|near].
    + replace (firstn before (p ++ above')) with (firstn before (p ++ above))
        by (rewrite !firstn_app; replace (before - length p) with 0 by lia; auto).
      apply within_keep. eapply within_more; [| | exact IH]; lia.
    + eapply within_more; [| | apply within_replace, IH]; lia.
Qed.

Lemma one_row_into_a_window : forall front above x back,
  Within (S (before + min after (length front))) (before + min after (length front))
    (seen_from above (front ++ back)) (seen_from above (front ++ x :: back)).
Proof.
  induction front as [|y front IH]; intros above x back.
  - simpl. apply within_insert. pose proof (change_above back [] above (x :: above)) as near. simpl in near.
    eapply within_more; [| | exact near]; lia.
  - change (length (y :: front)) with (S (length front)). specialize (IH (y :: above) x back).
    change ((y :: front) ++ back) with (y :: front ++ back).
    change ((y :: front) ++ x :: back) with (y :: front ++ x :: back). simpl seen_from.
    destruct (le_lt_dec after (length front)) as [far|near].
    + replace (firstn after (front ++ x :: back)) with (firstn after (front ++ back))
        by (rewrite !firstn_app; replace (after - length front) with 0 by lia; auto).
      apply within_keep. eapply within_more; [| | exact IH]; lia.
    + eapply within_more; [| | apply within_replace, IH]; lia.
Qed.

(** With w = before + 1 + after rows in sight: one row comes in, and w - 1 rows are replaced. *)
(* op: window *)
Theorem window_within : forall i d l r, Within i d l r ->
  Within ((before + 1 + after) * i + (before + after) * d) ((before + after) * i + (before + 1 + after) * d)
    (windows l) (windows r).
Proof.
  intros i d l r near. apply one_edit_is_enough; auto. intros. unfold windows.
  eapply within_more; [| | apply one_row_into_a_window]; lia.
Qed.

(* op: window *)
Theorem window_distance : forall n l r, Apart n l r ->
  Apart ((2 * (before + 1 + after) - 1) * n) (windows l) (windows r).
Proof.
  intros n l r (ins & del & s & few).
  assert (near : Within (length ins) (length del) l r) by (exists ins, del; auto).
  apply window_within in near. destruct near as (ins' & del' & s' & ? & ?). exists ins', del'. split; auto. nia.
Qed.

(** The value of a column [k] rows above, or below; none where there is no such row. *)
Definition lag_above {V : Type} (value : A -> V) (k : nat) (view : list A * list A) : option V :=
  match k with
  | 0 => option_map value (nth_error (snd view) 0)
  | S k' => option_map value (nth_error (fst view) k')
  end.

Definition lag_below {V : Type} (value : A -> V) (k : nat) (view : list A * list A) : option V :=
  option_map value (nth_error (snd view) k).

(** Columns that are computed from lags move with their window. *)
(* op: lag *)
Theorem lags_move_with_their_window : forall (B : Type) (row : list A * list A -> B) n l r, Apart n l r ->
  Apart ((2 * (before + 1 + after) - 1) * n) (map row (windows l)) (map row (windows r)).
Proof.
  intros B row n l r near. apply window_distance in near. destruct near as (ins & del & s & few).
  exists (map row ins), (map row del). rewrite !map_length. split; auto. apply expressions_keep_the_distance; auto.
Qed.

(** The views hold what a lag reads: row [j] of the result sees row [j - k] and row [j + k] of the table. *)
Lemma views_are_right : forall l above j, nth_error (seen_from above l) j =
  match nth_error l j with
  | None => None
  | Some _ => Some (firstn before (rev (firstn j l) ++ above), firstn (S after) (skipn j l))
  end.
Proof.
  induction l as [|x l IH]; intros above [|j]; auto.
  change (nth_error (seen_from above (x :: l)) (S j)) with (nth_error (seen_from (x :: above) l) j).
  rewrite IH. simpl nth_error. destruct (nth_error l j); auto.
  simpl. rewrite <- app_assoc. reflexivity.
Qed.

Lemma nth_error_firstn : forall (B : Type) k n (t : list B), k < n -> nth_error (firstn n t) k = nth_error t k.
Proof.
  induction k; intros [|n] t less; try lia; destruct t; auto. simpl. apply IHk. lia.
Qed.

Theorem lag_reads_the_row_above : forall (V : Type) (value : A -> V) k j l, j < length l -> 1 <= k <= before ->
  option_map (lag_above value k) (nth_error (windows l) j) =
  Some (if j <? k then None else option_map value (nth_error l (j - k))).
Proof.
  intros V value k j l inside known. unfold windows. rewrite views_are_right.
  destruct (nth_error l j) eqn:there; [|apply nth_error_None in there; lia].
  simpl. f_equal. destruct k as [|k]; [lia|]. simpl. rewrite app_nil_r, nth_error_firstn by lia.
  assert (len : length (firstn j l) = j) by (rewrite firstn_length; lia).
  destruct (Nat.ltb_spec j (S k)).
  - rewrite (proj2 (nth_error_None _ _)); auto. rewrite rev_length. lia.
  - f_equal. rewrite (nth_error_nth' _ a) by (rewrite rev_length; lia).
    rewrite rev_nth by lia. rewrite len. rewrite <- nth_error_nth' with (l := firstn j l) by lia.
    rewrite nth_error_firstn by lia. reflexivity.
Qed.

Theorem lag_reads_the_row_below : forall (V : Type) (value : A -> V) k j l, j < length l -> k <= after ->
  option_map (lag_below value k) (nth_error (windows l) j) = Some (option_map value (nth_error l (j + k))).
Proof.
  intros V value k j l inside known. unfold windows. rewrite views_are_right.
  destruct (nth_error l j) eqn:there; [|apply nth_error_None in there; lia].
  assert (same : nth_error (skipn j l) k = nth_error l (j + k)).
  { clear. revert j. induction l as [|x l IH]; intros [|j]; auto. destruct k; auto. apply IH. }
  unfold lag_below, option_map at 1, snd. rewrite nth_error_firstn, same by lia. reflexivity.
Qed.
End Windows.

(** ** Rows that do not see themselves: a shift, and a window over it

    A column that is moved down by [k] rows is the head of [k] missing values and the old column; moved up, it is the
    rest of the old column and [k] missing values. One row comes in, and none goes out, however large [k] is. *)
Definition shifted_down {V : Type} (k : nat) (column : list V) : list (option V) :=
  firstn (length column) (repeat None k ++ map Some column).

Definition shifted_up {V : Type} (k : nat) (column : list V) : list (option V) :=
  skipn k (map Some column) ++ repeat None (min k (length column)).

(* op: window *)
Theorem lone_shift_within : forall (V : Type) k i d (l r : list V), Within i d l r ->
  Within i d (shifted_down k l) (shifted_down k r).
Proof.
  intros V k i d l r near.
  apply (within_more (1 * i + 0 * d) (0 * i + 1 * d)); try lia.
  apply (one_edit_is_enough V _ (shifted_down k) 1 0); auto.
  intros front x back. unfold shifted_down. rewrite !app_length. simpl length. rewrite Nat.add_succ_r.
  rewrite !map_app, !app_assoc. simpl map.
  apply grows_within, (firstn_grows (length front + length back)).
Qed.

(* op: window *)
Theorem lone_shift_up_within : forall (V : Type) k i d (l r : list V), Within i d l r ->
  Within i d (shifted_up k l) (shifted_up k r).
Proof.
  intros V k i d l r near.
  apply (within_more (1 * i + 0 * d) (0 * i + 1 * d)); try lia.
  apply (one_edit_is_enough V _ (shifted_up k) 1 0); auto.
  intros front x back. unfold shifted_up. rewrite !app_length, !map_app. simpl length. simpl map.
  rewrite Nat.add_succ_r. set (n := length front + length back). destruct (le_lt_dec k n) as [long|short].
  - replace (min k (S n)) with (min k n) by lia.
    apply (within_app 1 0 0 0); [|apply within_same].
    apply grows_within, skipn_grows. right. exists (map Some front), (Some x), (map Some back). auto.
  - rewrite !skipn_all2 by (rewrite !app_length; simpl length; rewrite !map_length; fold n; lia).
    replace (min k n) with n by lia. replace (min k (S n)) with (S n) by lia.
    simpl. apply within_insert, within_same.
Qed.

(** [Window] of ops/rows/window.py where a row does not see itself: w rows that end [k] rows above it, or begin [k] rows
    below it, are the window of w rows over the shifted column. So w insertions and w - 1 deletions for an inserted row. *)
(* op: window *)
Theorem window_beside_its_row_within : forall (A : Type) k w i d (l r : list A), Within i d l r ->
  Within ((w + 1) * i + w * d) (w * i + (w + 1) * d) (windows w 0 (shifted_down k l)) (windows w 0 (shifted_down k r)) /\
  Within ((w + 1) * i + w * d) (w * i + (w + 1) * d) (windows 0 w (shifted_up k l)) (windows 0 w (shifted_up k r)).
Proof.
  intros A k w i d l r near. split.
  - apply (lone_shift_within A k), (window_within w 0) in near. eapply within_more; [| | exact near]; nia.
  - apply (lone_shift_up_within A k), (window_within 0 w) in near. eapply within_more; [| | exact near]; nia.
Qed.

(** A table of at most [m] rows has at most [m] windows: two of them are never more than 2·[m] edits apart. *)
Lemma windows_length : forall A b a l above, length (@seen_from A b a above l) = length l.
Proof. induction l; intros; simpl; auto. Qed.

(* op: window *)
Theorem few_windows_are_near : forall (A : Type) b a m (l r : list A), length l <= m -> length r <= m ->
  Within m m (windows b a l) (windows b a r).
Proof. intros. apply small_tables_are_near; unfold windows; rewrite windows_length; auto. Qed.

(** ** The bounds are reached by a row unlike all others in the middle *)

Definition same_view : forall v v' : list nat * list nat, {v = v'} + {v <> v'}.
Proof. repeat decide equality. Defined.

Example window_of_three_reaches_5 :
  edits same_view (windows 1 1 [0; 0; 0; 0]) (windows 1 1 [0; 0; 1; 0; 0]) = 2 * (1 + 1 + 1) - 1.
Proof. reflexivity. Qed.
Example window_of_three_above_reaches_5 :
  edits same_view (windows 2 0 [0; 0; 0; 0]) (windows 2 0 [0; 0; 1; 0; 0]) = 2 * (2 + 1 + 0) - 1.
Proof. reflexivity. Qed.
