(** The distance between two ordered tables: how many rows must be inserted and deleted.

    A table is a list of rows. [Script ins del l r] says: deleting the rows [del] from [l] and inserting the rows
    [ins] makes [r], and all other rows keep their order. So the number of insertions and the number of deletions
    are known apart, and so are the rows themselves.

    [edits] is the function that the tests use (tests/tables.py): both lengths, less twice the longest common
    subsequence, computed row by row in a table. [edits_is_the_shortest_script] says that the two agree. *)

From Coq Require Import List Arith Lia Permutation.
Import ListNotations.

Inductive Script {A : Type} : list A -> list A -> list A -> list A -> Prop :=
| Script_empty : Script [] [] [] []
| Script_keep : forall x ins del l r, Script ins del l r -> Script ins del (x :: l) (x :: r)
| Script_insert : forall x ins del l r, Script ins del l r -> Script (x :: ins) del l (x :: r)
| Script_delete : forall x ins del l r, Script ins del l r -> Script ins (x :: del) (x :: l) r.

(** At most [i] insertions and [d] deletions. *)
Definition Within {A : Type} (i d : nat) (l r : list A) : Prop :=
  exists ins del, Script ins del l r /\ length ins <= i /\ length del <= d.

(** At most [n] edits of either kind: the distance of the paper. *)
Definition Apart {A : Type} (n : nat) (l r : list A) : Prop :=
  exists ins del, Script ins del l r /\ length ins + length del <= n.

Section Facts.
Context {A : Type}.
Implicit Types (x y : A) (l r m a b ins del : list A).

Lemma script_same : forall l, Script [] [] l l.
Proof. induction l; constructor; auto. Qed.

Lemma script_insert_all : forall l, Script l [] [] l.
Proof. induction l; constructor; auto. Qed.

Lemma script_delete_all : forall l, Script [] l l [].
Proof. induction l; constructor; auto. Qed.

Lemma script_swap : forall ins del l r, Script ins del l r -> Script del ins r l.
Proof. induction 1; constructor; auto. Qed.

Lemma script_app : forall ins del l r ins' del' l' r',
  Script ins del l r -> Script ins' del' l' r' -> Script (ins ++ ins') (del ++ del') (l ++ l') (r ++ r').
Proof. induction 1; simpl; intros; auto; constructor; auto. Qed.

Lemma script_length : forall ins del l r, Script ins del l r -> length l + length ins = length r + length del.
Proof. induction 1; simpl; lia. Qed.

(** One script after another. A row that comes and goes again is not counted. *)
Lemma script_after : forall m ins del l, Script ins del l m -> forall ins' del' r, Script ins' del' m r ->
  exists ins'' del'', Script ins'' del'' l r /\
    length ins'' <= length ins + length ins' /\ length del'' <= length del + length del'.
Proof.
  enough (step : forall n m ins del l ins' del' r, length l + length m + length r <= n ->
    Script ins del l m -> Script ins' del' m r -> exists ins'' del'', Script ins'' del'' l r /\
    length ins'' <= length ins + length ins' /\ length del'' <= length del + length del').
  { intros m ins del l first ins' del' r. exact (step _ m ins del l ins' del' r (le_n _) first). }
  induction n; intros m ins del l ins' del' r small first second.
  - destruct l; [|simpl in small; lia]. destruct m; [|simpl in small; lia]. destruct r; [|simpl in small; lia].
    exists [], []; repeat split; simpl; try lia; constructor.
  - inversion second as [e1 e2 e3 e4 | x i2 d2 m2 r2 rest | x i2 d2 m2 r2 rest | x i2 d2 m2 r2 rest]; subst;
      simpl in small.
    + exists ins, del; repeat split; simpl; auto; lia.
    + inversion first as [| y i1 d1 l1 m1 before | y i1 d1 l1 m1 before | y i1 d1 l1 m1 before]; subst;
        simpl in small.
      * edestruct IHn as (i & d & s & ? & ?); [| exact before | exact rest |]; [simpl; lia |].
        exists i, d; repeat split; auto; constructor; auto.
      * edestruct IHn as (i & d & s & ? & ?); [| exact before | exact rest |]; [simpl; lia |].
        exists (x :: i), d; simpl in *; repeat split; try lia; constructor; auto.
      * edestruct IHn as (i & d & s & ? & ?); [| exact before | exact second |]; [simpl; lia |].
        exists i, (y :: d); simpl in *; repeat split; try lia; constructor; auto.
    + edestruct IHn as (i & d & s & ? & ?); [| exact first | exact rest |]; [simpl; lia |].
      exists (x :: i), d; simpl in *; repeat split; try lia; constructor; auto.
    + inversion first as [| y i1 d1 l1 m1 before | y i1 d1 l1 m1 before | y i1 d1 l1 m1 before]; subst;
        simpl in small.
      * edestruct IHn as (i & d & s & ? & ?); [| exact before | exact rest |]; [simpl; lia |].
        exists i, (x :: d); simpl in *; repeat split; try lia; constructor; auto.
      * edestruct IHn as (i & d & s & ? & ?); [| exact before | exact rest |]; [simpl; lia |].
        exists i, d; simpl; repeat split; try lia; auto.
      * edestruct IHn as (i & d & s & ? & ?); [| exact before | exact second |]; [simpl; lia |].
        exists i, (y :: d); simpl in *; repeat split; try lia; constructor; auto.
Qed.

(** ** The same facts for [Within] and [Apart] *)

Lemma within_same : forall l, Within 0 0 l l.
Proof. intros; exists [], []; split; [apply script_same | simpl; lia]. Qed.

Lemma within_more : forall i d i' d' l r, i <= i' -> d <= d' -> Within i d l r -> Within i' d' l r.
Proof. intros i d i' d' l r ? ? (ins & del & ? & ? & ?); exists ins, del; repeat split; auto; lia. Qed.

Lemma within_swap : forall i d l r, Within i d l r -> Within d i r l.
Proof. intros i d l r (ins & del & s & ? & ?); exists del, ins; repeat split; auto using script_swap. Qed.

Lemma within_after : forall i d i' d' l m r, Within i d l m -> Within i' d' m r -> Within (i + i') (d + d') l r.
Proof.
  intros i d i' d' l m r (ins & del & s & ? & ?) (ins' & del' & s' & ? & ?).
  destruct (script_after _ _ _ _ s _ _ _ s') as (x & y & ? & ? & ?).
  exists x, y; repeat split; auto; lia.
Qed.

Lemma within_app : forall i d i' d' l r l' r',
  Within i d l r -> Within i' d' l' r' -> Within (i + i') (d + d') (l ++ l') (r ++ r').
Proof.
  intros i d i' d' l r l' r' (ins & del & s & ? & ?) (ins' & del' & s' & ? & ?).
  exists (ins ++ ins'), (del ++ del'). rewrite !app_length. repeat split; try lia. apply script_app; auto.
Qed.

Lemma within_keep : forall i d x l r, Within i d l r -> Within i d (x :: l) (x :: r).
Proof. intros i d x l r (ins & del & s & ? & ?); exists ins, del; repeat split; auto; constructor; auto. Qed.

Lemma within_insert : forall i d x l r, Within i d l r -> Within (S i) d l (x :: r).
Proof. intros i d x l r (ins & del & s & ? & ?); exists (x :: ins), del; simpl; repeat split; try lia; constructor; auto. Qed.

Lemma within_delete : forall i d x l r, Within i d l r -> Within i (S d) (x :: l) r.
Proof. intros i d x l r (ins & del & s & ? & ?); exists ins, (x :: del); simpl; repeat split; try lia; constructor; auto. Qed.

Lemma within_replace : forall i d x y l r, Within i d l r -> Within (S i) (S d) (x :: l) (y :: r).
Proof. intros. apply within_insert, within_delete; auto. Qed.

Lemma within_one_inserted : forall a x b, Within 1 0 (a ++ b) (a ++ x :: b).
Proof.
  intros. apply (within_app 0 0 1 0); [apply within_same|]. apply within_insert, within_same.
Qed.

Lemma apart_of_within : forall i d l r, Within i d l r -> Apart (i + d) l r.
Proof. intros i d l r (ins & del & ? & ? & ?); exists ins, del; split; auto; lia. Qed.

(** ** The distance is a metric *)

Theorem distance_zero_means_equal : forall l r, Apart 0 l r <-> l = r.
Proof.
  split.
  - intros (ins & del & s & few). induction s; simpl in few; try lia; auto. f_equal; auto.
  - intros ->; exists [], []; split; [apply script_same | simpl; lia].
Qed.

Theorem distance_is_symmetric : forall n l r, Apart n l r -> Apart n r l.
Proof. intros n l r (ins & del & s & ?); exists del, ins; split; [apply script_swap; auto | lia]. Qed.

Theorem triangle_inequality : forall n k l m r, Apart n l m -> Apart k m r -> Apart (n + k) l r.
Proof.
  intros n k l m r (ins & del & s & ?) (ins' & del' & s' & ?).
  destruct (script_after _ _ _ _ s _ _ _ s') as (x & y & ? & ? & ?). exists x, y; split; auto; lia.
Qed.

(** Two tables of at most [w] rows are never more than 2·[w] apart. *)
Theorem small_tables_are_near : forall w l r, length l <= w -> length r <= w -> Within w w l r.
Proof.
  intros w l r ? ?. exists r, l; repeat split; auto.
  change r with ([] ++ r) at 2. rewrite <- (app_nil_r l) at 2.
  rewrite <- (app_nil_r l) at 1. change r with ([] ++ r) at 1.
  apply script_app; [apply script_delete_all | apply script_insert_all].
Qed.

End Facts.

(** ** From one edit to many

    If one inserted row moves the result of [f] by at most [a] insertions and [b] deletions, then [i] insertions and
    [d] deletions move it by at most a·i + b·d insertions and b·i + a·d deletions. *)
Theorem one_edit_is_enough : forall (A B : Type) (f : list A -> list B) (a b : nat),
  (forall front x back, Within a b (f (front ++ back)) (f (front ++ x :: back))) ->
  forall i d l r, Within i d l r -> Within (a * i + b * d) (b * i + a * d) (f l) (f r).
Proof.
  intros A B f a b one i d l r (ins & del & s & few & few').
  apply (within_more (a * length ins + b * length del) (b * length ins + a * length del)); try nia.
  clear i d few few'.
  enough (all : forall front, Within (a * length ins + b * length del) (b * length ins + a * length del)
                  (f (front ++ l)) (f (front ++ r))) by exact (all []).
  induction s; intros; simpl.
  - rewrite !Nat.mul_0_r. apply within_same.
  - specialize (IHs (front ++ [x])). rewrite <- !app_assoc in IHs. exact IHs.
  - apply (within_more (a * length ins + b * length del + a) (b * length ins + a * length del + b)); try lia.
    eapply within_after; [apply IHs|]. apply one.
  - apply (within_more (b + (a * length ins + b * length del)) (a + (b * length ins + a * length del))); try lia.
    eapply within_after; [apply within_swap, one | apply IHs].
Qed.

(** Reversing both lists changes nothing: the recursion goes from the front, the table from the back. *)
Lemma script_rev : forall (A : Type) (ins del l r : list A), Script ins del l r -> Script (rev ins) (rev del) (rev l) (rev r).
Proof.
  induction 1; simpl.
  - constructor.
  - rewrite <- (app_nil_r (rev ins)), <- (app_nil_r (rev del)). apply script_app; auto. apply script_same.
  - rewrite <- (app_nil_r (rev del)), <- (app_nil_r (rev l)). apply script_app; auto. apply script_insert_all.
  - rewrite <- (app_nil_r (rev ins)), <- (app_nil_r (rev r)). apply script_app; auto. apply script_delete_all.
Qed.

(** ** The function of the tests *)

Section Function.
Context {A : Type} (same : forall x y : A, {x = y} + {x <> y}).

(** The longest common subsequence, by its recursion. *)
Fixpoint lcs (l : list A) : list A -> nat :=
  match l with
  | [] => fun _ => 0
  | x :: l' =>
      fix inner (r : list A) : nat :=
        match r with
        | [] => 0
        | y :: r' => if same x y then S (lcs l' r') else max (lcs l' r) (inner r')
        end
  end.

(** tests/tables.py, [edits]: one row of its table from the row above. *)
Fixpoint next_row (x : A) (right : list A) (diagonal : nat) (above : list nat) (left : nat) : list nat :=
  match right, above with
  | y :: right', up :: above' =>
      let here := if same x y then S diagonal else max up left in
      here :: next_row x right' up above' here
  | _, _ => []
  end.

Definition common (left right : list A) : list nat :=
  fold_left (fun above x => next_row x right 0 above 0) left (repeat 0 (length right)).

Definition edits (left right : list A) : nat :=
  length left + length right - 2 * last (common left right) 0.

Lemma lcs_nil : forall l, lcs l [] = 0.
Proof. destruct l; reflexivity. Qed.

Lemma lcs_cons : forall x l y r, lcs (x :: l) (y :: r) =
  if same x y then S (lcs l r) else max (lcs l (y :: r)) (lcs (x :: l) r).
Proof. reflexivity. Qed.

Lemma lcs_one_more : forall n l r, length l + length r <= n ->
  (forall x, lcs l r <= lcs (x :: l) r <= S (lcs l r)) /\ (forall y, lcs l r <= lcs l (y :: r) <= S (lcs l r)).
Proof.
  induction n; intros l r small.
  - destruct l; [|simpl in small; lia]. destruct r; [|simpl in small; lia]. simpl; split; intros; lia.
  - split.
    + intros x. destruct r as [|y r]; [rewrite !lcs_nil; lia|]. rewrite lcs_cons. simpl in small.
      destruct (same x y) as [<-|]; destruct (IHn l r ltac:(lia)) as [left right].
      * specialize (right x). lia.
      * specialize (right y); specialize (left x). lia.
    + intros y. destruct l as [|x l]; [simpl; lia|]. rewrite lcs_cons. simpl in small.
      destruct (same x y) as [<-|]; destruct (IHn l r ltac:(lia)) as [left right].
      * specialize (left x). lia.
      * specialize (right y); specialize (left x). lia.
Qed.

Lemma lcs_is_longest : forall ins del l r, Script ins del l r ->
  length l + length r <= length ins + length del + 2 * lcs l r.
Proof.
  induction 1; simpl length.
  - lia.
  - rewrite lcs_cons. destruct (same x x); [lia | congruence].
  - destruct (lcs_one_more _ l r (le_n _)) as [_ H']. specialize (H' x). lia.
  - destruct (lcs_one_more _ l r (le_n _)) as [H' _]. specialize (H' x). lia.
Qed.

Lemma lcs_is_common : forall l r, exists ins del, Script ins del l r /\
  length ins + lcs l r = length r /\ length del + lcs l r = length l.
Proof.
  induction l as [|x l IHl]; intros r.
  - exists r, []; repeat split; simpl; auto; apply script_insert_all.
  - induction r as [|y r IHr].
    + exists [], (x :: l). rewrite lcs_nil. repeat split; simpl; auto; apply script_delete_all.
    + rewrite lcs_cons. destruct (same x y) as [<-|].
      * destruct (IHl r) as (ins & del & s & ? & ?). exists ins, del; simpl; repeat split; try lia; constructor; auto.
      * destruct (Nat.max_dec (lcs l (y :: r)) (lcs (x :: l) r)) as [-> | ->].
        -- destruct (IHl (y :: r)) as (ins & del & s & ? & ?).
           exists ins, (x :: del); simpl in *; repeat split; try lia; constructor; auto.
        -- destruct IHr as (ins & del & s & ? & ?).
           exists (y :: ins), del; simpl in *; repeat split; try lia; constructor; auto.
Qed.

Lemma lcs_rev : forall l r, lcs (rev l) (rev r) = lcs l r.
Proof.
  assert (half : forall l r, lcs l r <= lcs (rev l) (rev r)).
  { intros l r. destruct (lcs_is_common l r) as (ins & del & s & ? & ?).
    apply script_rev, lcs_is_longest in s. rewrite !rev_length in s. lia. }
  intros. apply Nat.le_antisymm; auto. rewrite <- (rev_involutive l) at 2. rewrite <- (rev_involutive r) at 2. auto.
Qed.

Lemma lcs_last : forall l x r y, lcs (l ++ [x]) (r ++ [y]) =
  if same x y then S (lcs l r) else max (lcs l (r ++ [y])) (lcs (l ++ [x]) r).
Proof.
  intros. rewrite <- lcs_rev, !rev_app_distr. simpl rev. simpl app. rewrite lcs_cons.
  rewrite <- (lcs_rev l r), <- (lcs_rev l (r ++ [y])), <- (lcs_rev (l ++ [x]) r), !rev_app_distr. reflexivity.
Qed.

(** The prefixes of [done ++ todo] that are longer than [done]. *)
Fixpoint prefixes (done todo : list A) : list (list A) :=
  match todo with [] => [] | y :: todo' => (done ++ [y]) :: prefixes (done ++ [y]) todo' end.

Lemma next_row_is_right : forall l x todo done,
  next_row x todo (lcs l done) (map (lcs l) (prefixes done todo)) (lcs (l ++ [x]) done) =
  map (lcs (l ++ [x])) (prefixes done todo).
Proof.
  induction todo; intros; simpl; auto. rewrite <- lcs_last. f_equal. apply IHtodo.
Qed.

Lemma common_is_lcs : forall l r, common l r = map (lcs l) (prefixes [] r).
Proof.
  intros l r. unfold common. rewrite <- (rev_involutive l).
  induction (rev l) as [|x k IH]; simpl.
  - generalize (@nil A). induction r; intros; simpl; auto. f_equal; auto.
  - rewrite fold_left_app, IH. simpl fold_left.
    rewrite <- (next_row_is_right (rev k) x r []). rewrite !lcs_nil. reflexivity.
Qed.

Lemma last_cons : forall (t : list nat) n d, last (n :: t) d = last t n.
Proof. induction t; intros; auto. simpl in *. destruct t; auto. Qed.

Lemma last_prefix : forall l r done, last (map (lcs l) (prefixes done r)) (lcs l done) = lcs l (done ++ r).
Proof.
  induction r as [|y r IH]; intros; simpl prefixes; simpl map.
  - simpl. rewrite app_nil_r; reflexivity.
  - rewrite last_cons, IH, <- app_assoc. reflexivity.
Qed.

Lemma edits_by_lcs : forall l r, edits l r = length l + length r - 2 * lcs l r.
Proof.
  intros. unfold edits. rewrite common_is_lcs. pose proof (last_prefix l r []) as H.
  rewrite lcs_nil in H. rewrite H. reflexivity.
Qed.

(** The function is the length of the shortest script: [n] edits are enough if and only if [edits] is at most [n]. *)
Theorem edits_is_the_shortest_script : forall n l r, Apart n l r <-> edits l r <= n.
Proof.
  intros n l r. rewrite edits_by_lcs. split.
  - intros (ins & del & s & ?). apply lcs_is_longest in s. lia.
  - intros few. destruct (lcs_is_common l r) as (ins & del & s & ? & ?). exists ins, del; split; auto; lia.
Qed.

End Function.
