(** head, tail and iloc[a:b]: a window of consecutive rows (src/privjail/ops/slice.py). *)

From Coq Require Import List Arith Lia ZArith Bool.
From PrivJail Require Import Distance.
Import ListNotations.

(** The rows from position [s] up to, but not including, position [e]. *)
Definition window {A : Type} (s e : nat) (l : list A) : list A := skipn s (firstn e l).

(** ** One inserted row, and a window whose ends stay or move on by one row *)

Section OneRow.
Context {A : Type}.
Implicit Types (x : A) (l r front back : list A).

(** [r] is [l], or [l] with one row inserted. *)
Definition Grows l r : Prop := l = r \/ exists front x back, l = front ++ back /\ r = front ++ x :: back.

Lemma grows_within : forall l r, Grows l r -> Within 1 0 l r.
Proof.
  intros l r [-> | (front & x & back & -> & ->)].
  - apply (within_more 0 0); auto. apply within_same.
  - apply within_one_inserted.
Qed.

Lemma firstn_one_more : forall e l, exists last, firstn (S e) l = firstn e l ++ last /\ length last <= 1.
Proof.
  induction e; intros l; destruct l as [|y l]; try (exists []; simpl; split; auto; fail).
  - exists [y]; auto.
  - destruct (IHe l) as (last & eq & ?). exists last. split; auto.
    change (firstn (S (S e)) (y :: l)) with (y :: firstn (S e) l). rewrite eq. reflexivity.
Qed.

Lemma skipn_one_more : forall s l, skipn s l = skipn (S s) l \/ exists y, skipn s l = y :: skipn (S s) l.
Proof.
  induction s; intros l; destruct l as [|y l]; simpl; eauto.
Qed.

Lemma firstn_grows : forall e front x back,
  Grows (firstn e (front ++ back)) (firstn (S e) (front ++ x :: back)).
Proof.
  intros e front x back. right. destruct (le_lt_dec (length front) e) as [long|short].
  - exists front, x, (firstn (e - length front) back). split.
    + rewrite firstn_app, firstn_all2 by auto. reflexivity.
    + rewrite firstn_app, firstn_all2 by lia. replace (S e - length front) with (S (e - length front)) by lia.
      reflexivity.
  - exists (firstn e front). destruct (nth_error front e) as [y|] eqn:there.
    2: { apply nth_error_None in there. lia. }
    exists y, []. rewrite !firstn_app. replace (e - length front) with 0 by lia.
    replace (S e - length front) with 0 by lia. simpl firstn at 2 4. rewrite !app_nil_r. split; auto.
    clear - there. revert front there. induction e; intros [|z front] there; try discriminate; simpl in *.
    + injection there as ->; auto.
    + f_equal. apply IHe; auto.
Qed.

Lemma skipn_grows : forall s l r, Grows l r -> Grows (skipn s l) (skipn s r).
Proof.
  intros s l r [->|(front & x & back & -> & ->)]; [left; auto|].
  destruct (le_lt_dec s (length front)) as [before|after].
  - right. exists (skipn s front), x, back. rewrite !skipn_app. replace (s - length front) with 0 by lia. auto.
  - rewrite !skipn_app, !(skipn_all2 front) by lia. replace (s - length front) with (S (s - length front - 1)) by lia.
    simpl. destruct (skipn_one_more (s - length front - 1) back) as [->|(y & ->)]; [left; auto|].
    right. exists [], y, (skipn (S (s - length front - 1)) back). auto.
Qed.

Lemma window_grows : forall s e front x back,
  Within 1 0 (window s e (front ++ back)) (window s (S e) (front ++ x :: back)).
Proof. intros. apply grows_within, skipn_grows, firstn_grows. Qed.

Lemma window_loses_its_last_row : forall s e l, Within 0 1 (window s (S e) l) (window s e l).
Proof.
  intros s e l. unfold window. destruct (firstn_one_more e l) as (last & -> & few). rewrite skipn_app.
  exists [], (skipn (s - length (firstn e l)) last). repeat split; auto.
  - rewrite <- (app_nil_r (skipn s (firstn e l))) at 2.
    apply (script_app [] []); [apply script_same | apply script_delete_all].
  - rewrite skipn_length. lia.
Qed.

Lemma window_loses_its_first_row : forall s e l, Within 0 1 (window s e l) (window (S s) e l).
Proof.
  intros s e l. unfold window. destruct (skipn_one_more s (firstn e l)) as [->|(y & ->)].
  - apply (within_more 0 0); auto. apply within_same.
  - apply within_delete, within_same.
Qed.

Lemma both_ends_stay : forall s e front x back,
  Within 1 1 (window s e (front ++ back)) (window s e (front ++ x :: back)).
Proof.
  intros. apply (within_after 1 0 0 1 _ (window s (S e) (front ++ x :: back))).
  - apply window_grows.
  - apply window_loses_its_last_row.
Qed.

Lemma both_ends_move : forall s e front x back,
  Within 1 1 (window s e (front ++ back)) (window (S s) (S e) (front ++ x :: back)).
Proof.
  intros. apply (within_after 1 0 0 1 _ (window s (S e) (front ++ x :: back))).
  - apply window_grows.
  - apply window_loses_its_first_row.
Qed.

Lemma start_moves_end_stays : forall s e front x back,
  Within 1 2 (window s e (front ++ back)) (window (S s) e (front ++ x :: back)).
Proof.
  intros. apply (within_after 1 1 0 1 _ (window s e (front ++ x :: back))).
  - apply both_ends_stay.
  - apply window_loses_its_first_row.
Qed.

(** An end of a window is a function of the number of rows. It slides if it stays or moves on by one row when the
    number of rows grows by one. *)
Definition Slides (f : nat -> nat) : Prop := forall n, f n <= f (S n) <= S (f n).

Theorem any_sliding_window : forall s e, Slides s -> Slides e -> forall i d l r, Within i d l r ->
  Within (i + 2 * d) (2 * i + d) (window (s (length l)) (e (length l)) l) (window (s (length r)) (e (length r)) r).
Proof.
  intros s e slide slide' i d l r near.
  replace (i + 2 * d) with (1 * i + 2 * d) by lia. replace (2 * i + d) with (2 * i + 1 * d) by lia.
  apply (one_edit_is_enough A A (fun t => window (s (length t)) (e (length t)) t)); auto.
  intros front x back. rewrite !app_length. simpl. rewrite Nat.add_succ_r.
  set (n := length front + length back). specialize (slide n). specialize (slide' n).
  assert (s (S n) = s n \/ s (S n) = S (s n)) as [-> | ->] by lia;
  assert (e (S n) = e n \/ e (S n) = S (e n)) as [-> | ->] by lia.
  - eapply within_more; [| | apply both_ends_stay]; lia.
  - eapply within_more; [| | apply window_grows]; lia.
  - apply start_moves_end_stays.
  - eapply within_more; [| | apply both_ends_move]; lia.
Qed.

End OneRow.

(** ** Python's slices: a negative bound counts from the end *)

Definition bound := option Z.

Definition start_at (b : bound) (n : nat) : nat :=
  match b with
  | None => 0
  | Some z => if (z <? 0)%Z then n - Z.to_nat (- z) else Z.to_nat z
  end.

Definition stop_at (b : bound) (n : nat) : nat :=
  match b with
  | None => n
  | Some z => if (z <? 0)%Z then n - Z.to_nat (- z) else Z.to_nat z
  end.

Definition slice {A : Type} (start stop : bound) (l : list A) : list A :=
  window (start_at start (length l)) (stop_at stop (length l)) l.

Definition head {A : Type} (n : nat) : list A -> list A := slice None (Some (Z.of_nat n)).
Definition tail {A : Type} (n : nat) : list A -> list A := slice (Some (- Z.of_nat n)%Z) None.

Definition from_end (b : bound) : bool := match b with None => false | Some z => (z <? 0)%Z end.
Definition to_end (b : bound) : bool := match b with None => true | Some z => (z <? 0)%Z end.

(** How many rows go out when one comes in. *)
Definition goes_out (start stop : bound) : nat :=
  match from_end start, to_end stop with
  | false, true => 0
  | false, false => 1
  | true, true => 1
  | true, false => 2
  end.

(** [moves] of ops/slice.py: how many edits of the window one edit of the rows can cause. *)
Definition moves (start stop : bound) : nat :=
  if from_end start then (if to_end stop then 2 else 3) else (if to_end stop then 1 else 2).

Lemma empty_windows_are_equal : forall A s s' (l r : list A), Within 0 0 (window s 0 l) (window s' 0 r).
Proof. intros. unfold window. simpl. rewrite !skipn_nil. apply within_same. Qed.

Lemma one_row_into_a_slice : forall A start stop (front : list A) x back,
  Within 1 (goes_out start stop) (slice start stop (front ++ back)) (slice start stop (front ++ x :: back)).
Proof.
  intros A start stop front x back. unfold slice, goes_out. rewrite !app_length. simpl length.
  rewrite Nat.add_succ_r. set (n := length front + length back).
  assert (starts : start_at start (S n) = start_at start n \/
    from_end start = true /\ start_at start (S n) = S (start_at start n)).
  { unfold start_at, from_end. destruct start as [z|]; auto. destruct (z <? 0)%Z; auto.
    destruct (le_lt_dec (Z.to_nat (- z)) n); [right | left]; lia. }
  assert (stops : to_end stop = true /\ stop_at stop (S n) = S (stop_at stop n) \/
    to_end stop = false /\ stop_at stop (S n) = stop_at stop n \/
    to_end stop = true /\ stop_at stop (S n) = 0 /\ stop_at stop n = 0).
  { unfold stop_at, to_end. destruct stop as [z|]; auto. destruct (z <? 0)%Z eqn:neg; auto.
    destruct (le_lt_dec (Z.to_nat (- z)) n); [left | right; right]; lia. }
  destruct stops as [[-> ->]|[[-> ->]|[-> [-> ->]]]]; destruct starts as [->|[-> ->]].
  - eapply within_more; [| | apply window_grows]; destruct (from_end start); lia.
  - apply both_ends_move.
  - eapply within_more; [| | apply both_ends_stay]; destruct (from_end start); lia.
  - apply start_moves_end_stays.
  - eapply within_more; [| | apply empty_windows_are_equal]; lia.
  - eapply within_more; [| | apply empty_windows_are_equal]; lia.
Qed.

(** Insertions and deletions apart: every edit brings at most one row in; 0, 1 or 2 go out. *)
(* op: slice *)
Theorem slice_within : forall A start stop i d (l r : list A), Within i d l r ->
  Within (i + goes_out start stop * d) (goes_out start stop * i + d) (slice start stop l) (slice start stop r).
Proof.
  intros. rewrite <- (Nat.mul_1_l i) at 1. rewrite <- (Nat.mul_1_l d) at 2.
  apply one_edit_is_enough; auto. intros; apply one_row_into_a_slice.
Qed.

(* op: slice *)
Theorem slice_distance : forall A start stop n (l r : list A), Apart n l r ->
  Apart (moves start stop * n) (slice start stop l) (slice start stop r).
Proof.
  intros A start stop n l r (ins & del & s & few).
  assert (near : Within (length ins) (length del) l r) by (exists ins, del; auto).
  apply (slice_within A start stop) in near. destruct near as (ins' & del' & s' & ? & ?).
  exists ins', del'. split; auto. unfold moves, goes_out in *. destruct (from_end start), (to_end stop); lia.
Qed.

(** After head or tail the number of rows moves by at most one for each edit. *)
Corollary count_after_head : forall A n i d (l r : list A), Within i d l r ->
  length (head n r) <= length (head n l) + (i + d) /\ length (head n l) <= length (head n r) + (i + d).
Proof.
  intros A n i d l r near. apply (slice_within A None (Some (Z.of_nat n))) in near.
  assert (goes_out None (Some (Z.of_nat n)) <= 1) by (unfold goes_out; simpl; destruct (_ <? 0)%Z; lia).
  destruct near as (ins & del & s & ? & ?). apply script_length in s. unfold head. nia.
Qed.

(** [width] of ops/slice.py: the most rows that a slice can have, if that is known. *)
Definition width (start stop : bound) : option nat :=
  match start, stop with
  | Some a, Some b =>
      if (a <? 0)%Z then Some (if (b <? 0)%Z then Z.to_nat (b - a) else min (Z.to_nat (- a)) (Z.to_nat b))
      else if (b <? 0)%Z then None else Some (Z.to_nat (b - a))
  | Some a, None => if (a <? 0)%Z then Some (Z.to_nat (- a)) else None
  | None, Some b => if (b <? 0)%Z then None else Some (Z.to_nat b)
  | None, None => None
  end.

Lemma window_length : forall A s e (l : list A), length (window s e l) = min e (length l) - s.
Proof. intros. unfold window. rewrite skipn_length, firstn_length. reflexivity. Qed.

Lemma slice_has_its_width : forall A start stop w (l : list A), width start stop = Some w ->
  length (slice start stop l) <= w.
Proof.
  intros A start stop w l known. unfold slice. rewrite window_length.
  destruct start as [a|], stop as [b|]; simpl in *; try discriminate;
  repeat match goal with
    | H : context [(?z <? 0)%Z] |- _ => destruct (Z.ltb_spec z 0)
    | |- context [(?z <? 0)%Z] => destruct (Z.ltb_spec z 0)
    end; try discriminate; injection known as <-; lia.
Qed.

(* op: slice *)
Theorem slices_are_at_most_twice_their_rows_apart : forall A start stop w (l r : list A),
  width start stop = Some w -> Apart (2 * w) (slice start stop l) (slice start stop r).
Proof.
  intros A start stop w l r known. replace (2 * w) with (w + w) by lia. apply apart_of_within, small_tables_are_near;
  apply slice_has_its_width; auto.
Qed.

(** ** A slice of a slice of …: at most 3 in all *)

Definition chain {A : Type} (slices : list (bound * bound)) (l : list A) : list A :=
  fold_left (fun rows '(start, stop) => slice start stop rows) slices l.

Lemma bounds_slide : forall b, Slides (start_at b) /\ Slides (fun n => min (stop_at b n) n).
Proof.
  intros [z|]; split; intros n; unfold start_at, stop_at; try destruct (z <? 0)%Z; lia.
Qed.

Lemma skip_twice : forall A a s (l : list A), skipn a (skipn s l) = skipn (s + a) l.
Proof. induction s; intros l; auto. destruct l; simpl; auto. apply skipn_nil. Qed.

Lemma window_of_window : forall A s e a b (l : list A), e <= length l ->
  window a b (window s e l) = window (s + a) (min (s + min b (e - s)) (length l)) l.
Proof.
  intros A s e a b l inside. unfold window. rewrite firstn_skipn_comm, skip_twice, firstn_firstn.
  destruct (le_lt_dec s e).
  - do 2 f_equal. lia.
  - rewrite !skipn_all2; auto; rewrite firstn_length; lia.
Qed.

Lemma chain_is_a_window : forall slices, exists s e, Slides s /\ Slides e /\ (forall n, e n <= n) /\
  forall A (l : list A), chain slices l = window (s (length l)) (e (length l)) l.
Proof.
  intros slices. rewrite <- (rev_involutive slices). induction (rev slices) as [|(start, stop) rest IH]; simpl.
  - exists (fun _ => 0), (fun n => n). repeat split; intros; try lia. unfold window. simpl. rewrite firstn_all. auto.
  - destruct IH as (s & e & slide & slide' & inside & same).
    destruct (bounds_slide start) as [slide_start _]. destruct (bounds_slide stop) as [_ slide_stop].
    set (rows := fun n => e n - s n).
    exists (fun n => s n + start_at start (rows n)), (fun n => min (s n + min (stop_at stop (rows n)) (rows n)) n).
    assert (both : forall f, Slides f -> Slides (fun n => s n + f (rows n))).
    { intros f slide_f n. specialize (slide n). specialize (slide' n). unfold rows.
      assert (e (S n) - s (S n) = e n - s n \/ e (S n) - s (S n) = S (e n - s n) /\ s (S n) = s n \/
              e n - s n = S (e (S n) - s (S n)) /\ s (S n) = S (s n)) as [-> | [[-> ?] | [-> ?]]] by lia.
      - lia.
      - specialize (slide_f (e n - s n)). lia.
      - specialize (slide_f (e (S n) - s (S n))). lia. }
    repeat split; try apply both; auto.
    + pose proof (both _ slide_stop n) as b. simpl in b. lia.
    + pose proof (both _ slide_stop n) as b. simpl in b. lia.
    + intros; lia.
    + intros A l. unfold chain in *. rewrite fold_left_app. simpl. rewrite same. unfold slice.
      rewrite window_length. replace (min (e (length l)) (length l)) with (e (length l))
        by (specialize (inside (length l)); lia). fold (rows (length l)).
      unfold rows. apply window_of_window; auto.
Qed.

(* op: slice *)
Theorem chain_of_slices : forall slices A i d (l r : list A), Within i d l r ->
  Within (i + 2 * d) (2 * i + d) (chain slices l) (chain slices r).
Proof.
  intros slices A i d l r near. destruct (chain_is_a_window slices) as (s & e & slide & slide' & _ & same).
  rewrite !same. apply any_sliding_window; auto.
Qed.

(** ** A chain that is one slice *)

(** [compose] of ops/slice.py: two slices as one, where both count from the front or both from the end. *)
Definition compose (a b c d : bound) : option (bound * bound) :=
  let a' := match a with None => 0%Z | Some z => z end in
  let c' := match c with None => 0%Z | Some z => z end in
  let counts_from_front (z : bound) := match z with None => true | Some z => (0 <=? z)%Z end in
  if (0 <=? a')%Z && (0 <=? c')%Z && counts_from_front b && counts_from_front d then
    Some (Some (a' + c')%Z,
          match b, d with
          | None, None => None
          | Some b, None => Some (Z.max b (a' + c'))
          | None, Some d => Some (Z.max (a' + d) (a' + c'))
          | Some b, Some d => Some (Z.max (Z.min b (a' + d)) (a' + c'))
          end)
  else match b, d with
  | Some b, Some d =>
      if (a' =? 0)%Z && (c' =? 0)%Z && (b <? 0)%Z && (d <? 0)%Z then Some (Some 0%Z, Some (b + d)%Z) else None
  | None, None =>
      match a, c with
      | Some a, Some c => if (a <? 0)%Z && (c <? 0)%Z then Some (Some (Z.max a c), None) else None
      | _, _ => None
      end
  | _, _ => None
  end.

Lemma same_window : forall A s e s' e' (l : list A),
  (s = s' /\ min e (length l) = min e' (length l)) \/
  (min e (length l) <= s /\ min e' (length l) <= s') -> window s e l = window s' e' l.
Proof.
  intros A s e s' e' l [[<- same]|[empty empty']].
  - unfold window. f_equal. rewrite <- (firstn_all l) at 1 2. rewrite !firstn_firstn, same. reflexivity.
  - unfold window. rewrite !skipn_all2; auto; rewrite firstn_length; lia.
Qed.

(** Both count from the front: rows [a..b), and of these the rows [c..d). *)
Lemma front_of_front : forall A (a b c d : nat) (l : list A),
  window c d (window a b l) = window (a + c) (max (min b (a + d)) (a + c)) l.
Proof.
  intros A a b c d l. unfold window. rewrite firstn_skipn_comm, skip_twice, firstn_firstn.
  destruct (le_lt_dec (min b (a + d)) (a + c)).
  - rewrite !skipn_all2; auto; rewrite firstn_length; lia.
  - do 2 f_equal. lia.
Qed.

Lemma up_to_the_end : forall A s e (l : list A), length l <= e -> window s e l = window s (length l) l.
Proof. intros. apply same_window. left. lia. Qed.

Lemma start_from_front : forall z n, (0 <= z)%Z -> start_at (Some z) n = Z.to_nat z.
Proof. intros z n ?. unfold start_at. destruct (Z.ltb_spec z 0); auto; lia. Qed.

Lemma stop_from_front : forall z n, (0 <= z)%Z -> stop_at (Some z) n = Z.to_nat z.
Proof. intros z n ?. unfold stop_at. destruct (Z.ltb_spec z 0); auto; lia. Qed.

Lemma start_from_end : forall z n, (z < 0)%Z -> start_at (Some z) n = n - Z.to_nat (- z).
Proof. intros z n ?. unfold start_at. destruct (Z.ltb_spec z 0); auto; lia. Qed.

Lemma stop_from_end : forall z n, (z < 0)%Z -> stop_at (Some z) n = n - Z.to_nat (- z).
Proof. intros z n ?. unfold stop_at. destruct (Z.ltb_spec z 0); auto; lia. Qed.

(* op: slice *)
Theorem a_chain_that_is_called_one_slice_is_that_slice : forall A a b c d start stop (l : list A),
  compose a b c d = Some (start, stop) -> slice c d (slice a b l) = slice start stop l.
Proof.
  intros A a b c d start stop l called. unfold compose in called.
  set (a' := match a with None => 0%Z | Some z => z end) in *.
  set (c' := match c with None => 0%Z | Some z => z end) in *.
  assert (begin : forall n, (0 <= a')%Z -> start_at a n = Z.to_nat a')
    by (intros; subst a'; destruct a; auto; apply start_from_front; auto).
  assert (begin' : forall n, (0 <= c')%Z -> start_at c n = Z.to_nat c')
    by (intros; subst c'; destruct c; auto; apply start_from_front; auto).
  match type of called with (if ?test then _ else _) = _ => destruct test eqn:front end.
  - rewrite !andb_true_iff, !Z.leb_le in front. destruct front as [[[? ?] posb] posd].
    injection called as <- <-. unfold slice. rewrite begin, begin' by auto.
    rewrite (start_from_front (a' + c')) by lia. rewrite Z2Nat.inj_add by auto.
    clear begin begin'. clearbody a' c'.
    destruct b as [b|], d as [d|]; try apply Z.leb_le in posb; try apply Z.leb_le in posd;
    rewrite ?stop_from_front, ?Z2Nat.inj_max, ?Z2Nat.inj_min, ?Z2Nat.inj_add by lia;
    try generalize (Z.to_nat d) as d'; try generalize (Z.to_nat b) as b'; generalize (Z.to_nat a') as i, (Z.to_nat c') as k;
    intros.
    + apply front_of_front.
    + unfold stop_at. rewrite <- (up_to_the_end _ _ (max (length l) b')) by (rewrite window_length; lia).
      rewrite front_of_front. apply same_window. left. lia.
    + unfold stop_at. rewrite front_of_front. apply same_window.
      destruct (le_lt_dec (min (length l) (i + d')) (i + k)); [right|left]; lia.
    + unfold stop_at. rewrite <- (up_to_the_end _ _ (length l)) by (rewrite window_length; lia).
      rewrite front_of_front. apply same_window. destruct (le_lt_dec (length l) (i + k)); [right|left]; lia.
  - clear front. destruct b as [b|], d as [d|]; try discriminate.
    + match type of called with (if ?test then _ else _) = _ => destruct test eqn:heads end; [|discriminate].
      rewrite !andb_true_iff, !Z.eqb_eq, !Z.ltb_lt in heads. destruct heads as [[[a0 c0] ?] ?].
      injection called as <- <-. unfold slice. rewrite begin, begin', a0, c0 by lia. simpl start_at.
      rewrite !stop_from_end by lia. rewrite window_length. change (Z.to_nat 0) with 0.
      rewrite front_of_front. apply same_window. left. lia.
    + destruct a as [a|], c as [c|]; try discriminate.
      match type of called with (if ?test then _ else _) = _ => destruct test eqn:tails end; [|discriminate].
      rewrite !andb_true_iff, !Z.ltb_lt in tails. destruct tails as [? ?]. injection called as <- <-.
      unfold slice. rewrite !start_from_end by lia. simpl stop_at. rewrite window_length, front_of_front.
      apply same_window. left. lia.
Qed.

(** ** The bounds 1, 2 and 3 are reached *)

Definition moved (start stop : bound) (l r : list nat) : nat := edits Nat.eq_dec (slice start stop l) (slice start stop r).

Example head_reaches_2 : moved None (Some 2%Z) [0; 0] [1; 0; 0] = 2 /\ moves None (Some 2%Z) = 2.
Proof. split; reflexivity. Qed.
Example tail_reaches_2 : moved (Some (-2)%Z) None [0; 0] [0; 0; 1] = 2 /\ moves (Some (-2)%Z) None = 2.
Proof. split; reflexivity. Qed.
Example cut_at_the_front_reaches_1 : moved (Some 1%Z) None [0] [0; 1] = 1 /\ moves (Some 1%Z) None = 1.
Proof. split; reflexivity. Qed.
Example cut_at_both_ends_reaches_1 : moved (Some 1%Z) (Some (-1)%Z) [0; 0] [0; 1; 0] = 1.
Proof. reflexivity. Qed.
Example from_the_end_to_the_front_reaches_3 :
  moved (Some (-4)%Z) (Some 5%Z) [0; 0; 1; 0; 1] [0; 0; 2; 1; 0; 1] = 3 /\ moves (Some (-4)%Z) (Some 5%Z) = 3.
Proof. split; reflexivity. Qed.
