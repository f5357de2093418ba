(** A slice of a slice (src/privjail/ops/rows/slice.py): a chain of slices counts once. *)

From Coq Require Import List Arith Lia ZArith Bool.
From PrivJail Require Import Distance Slices.
Import ListNotations.

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

(** [compose] of ops/rows/slice.py: two slices as one, where both count from the front or both from the end. *)
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
