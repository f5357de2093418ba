(** head, tail and iloc[a:b]: a window of consecutive rows (src/privjail/ops/rows/slice.py). *)

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

(** How many edits of the window one edit of the rows can cause. *)
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

(** [width] of ops/rows/slice.py: the most rows that a slice can have, if that is known. *)
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
