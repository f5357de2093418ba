(** A slice of a slice (src/privjail/ops/rows/slice.py): a chain of slices counts once. *)

From Coq Require Import List Arith Lia ZArith Bool.
From PrivJail Require Import Distance Slices.
Import ListNotations.

(** ** A slice of a slice of …: one window whose two ends stay or move *)

Definition chain {A : Type} (slices : list (bound * bound)) (l : list A) : list A :=
  fold_left (fun rows '(start, stop) => slice start stop rows) slices l.

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

Lemma same_window : forall A s e s' e' (l : list A),
  (s = s' /\ min e (length l) = min e' (length l)) \/
  (min e (length l) <= s /\ min e' (length l) <= s') -> window s e l = window s' e' l.
Proof.
  intros A s e s' e' l [[<- same]|[empty empty']].
  - unfold window. f_equal. rewrite <- (firstn_all l) at 1 2. rewrite !firstn_firstn, same. reflexivity.
  - unfold window. rewrite !skipn_all2; auto; rewrite firstn_length; lia.
Qed.

(** Whether the start and the end of a window move on by a row when a row is inserted. *)
Definition ends := (bool * bool)%type.

(** [ends_of_chain] of ops/rows/slice.py. A start that counts from the end moves as the end of the window did, or as its
    start where the window is shorter; a stop that counts from the front likewise. *)
Definition next_ends (start stop : bound) (found : list ends) : list ends :=
  flat_map (fun '(at_, to) =>
    flat_map (fun s => map (fun e => (s, e)) (if to_end stop then [to] else [at_; to]))
      (if from_end start then [at_; to] else [at_])) found.

Definition ends_of_chain (slices : list (bound * bound)) : list ends :=
  fold_left (fun found '(start, stop) => next_ends start stop found) slices [(false, true)].

(** [goes_out] of ops/rows/slice.py: how many rows can leave a window with such ends when one row is inserted. *)
Definition leaves (found : list ends) : nat :=
  list_max (map (fun '(s, e) => 1 + Nat.b2n s - Nat.b2n e) found).

(** With one row more, both windows are empty, or the ends move in one of the ways that are listed. *)
Definition EndsMove (found : list ends) (s e : nat -> nat) : Prop := forall n,
  (s n = e n /\ s (S n) = e (S n)) \/
  exists at_ to, In (at_, to) found /\ s (S n) = s n + Nat.b2n at_ /\ e (S n) = e n + Nat.b2n to.

Definition Window (s e : nat -> nat) : Prop := forall n, s n <= e n <= n.

(** The ends of a slice of the window from [s] to [e]. *)
Definition new_start (start : bound) (s e : nat -> nat) (n : nat) : nat :=
  min (s n + start_at start (e n - s n)) (e n).
Definition new_stop (start stop : bound) (s e : nat -> nat) (n : nat) : nat :=
  max (new_start start s e n) (s n + min (stop_at stop (e n - s n)) (e n - s n)).

Lemma slice_is_a_window : forall start stop s e, Window s e -> Window (new_start start s e) (new_stop start stop s e).
Proof. intros start stop s e w n. specialize (w n). unfold new_stop, new_start. lia. Qed.

Lemma slice_of_a_window : forall A start stop s e (l : list A), Window s e ->
  slice start stop (window (s (length l)) (e (length l)) l) =
  window (new_start start s e (length l)) (new_stop start stop s e (length l)) l.
Proof.
  intros A start stop s e l w. specialize (w (length l)). unfold slice, new_stop, new_start. rewrite window_length.
  replace (min (e (length l)) (length l)) with (e (length l)) by lia.
  rewrite window_of_window by lia. apply same_window.
  set (a := start_at start _). set (b := stop_at stop _).
  destruct (le_lt_dec (s (length l) + a) (s (length l) + min b (e (length l) - s (length l)))).
  - left. lia.
  - right. lia.
Qed.

Lemma in_next_ends : forall start stop found at_ to s e, In (at_, to) found ->
  (s = at_ \/ from_end start = true /\ s = to) -> (e = to \/ to_end stop = false /\ e = at_) ->
  In (s, e) (next_ends start stop found).
Proof.
  intros start stop found at_ to s e here starts stops. unfold next_ends. apply in_flat_map.
  exists (at_, to). split; auto. apply in_flat_map. exists s. split.
  - destruct starts as [->|[-> ->]]; [destruct (from_end start)|]; simpl; auto.
  - apply in_map. destruct stops as [->|[-> ->]]; [destruct (to_end stop)|]; simpl; auto.
Qed.

(** How the start moves: as the start did, or as the end did; or it lies at the end, and the window is empty. *)
Lemma start_step : forall start s e a t, s <= e -> a <= 1 -> t <= 1 -> s + a <= e + t ->
  let s0 := min (s + start_at start (e - s)) e in
  let s1 := min (s + a + start_at start (e + t - (s + a))) (e + t) in
  s1 = s0 + a \/ from_end start = true /\ s1 = s0 + t \/ s0 = e /\ s1 = e + t.
Proof.
  intros start s e a t ? ? ? ?. unfold start_at, from_end. destruct start as [z|]; [destruct (z <? 0)%Z|]; cbv zeta.
  - generalize (Z.to_nat (- z)) as k. intros k. destruct (le_lt_dec (e - s) k), (le_lt_dec (e + t - (s + a)) k); lia.
  - generalize (Z.to_nat z) as k. intros k. destruct (le_lt_dec k (e - s)), (le_lt_dec k (e + t - (s + a))); lia.
  - lia.
Qed.

(** Likewise the end; or it lies at the start. *)
Lemma stop_step : forall stop s e a t, s <= e -> a <= 1 -> t <= 1 -> s + a <= e + t ->
  let r0 := s + min (stop_at stop (e - s)) (e - s) in
  let r1 := s + a + min (stop_at stop (e + t - (s + a))) (e + t - (s + a)) in
  r1 = r0 + t \/ to_end stop = false /\ r1 = r0 + a \/ r0 = s /\ r1 = s + a.
Proof.
  intros stop s e a t ? ? ? ?. unfold stop_at, to_end. destruct stop as [z|]; [destruct (z <? 0)%Z|]; cbv zeta.
  - generalize (Z.to_nat (- z)) as k. intros k. destruct (le_lt_dec (e - s) k), (le_lt_dec (e + t - (s + a)) k); lia.
  - generalize (Z.to_nat z) as k. intros k. destruct (le_lt_dec k (e - s)), (le_lt_dec k (e + t - (s + a))); lia.
  - lia.
Qed.

(** Where the end would lie before the start, the window is empty with and without the inserted row. *)
Lemma empty_or_not : forall s0 s1 r0 r1, s0 <= s1 <= s0 + 1 -> r0 <= r1 <= r0 + 1 ->
  (s0 = max s0 r0 /\ s1 = max s1 r1) \/ (max s0 r0 = r0 /\ max s1 r1 = r1).
Proof. intros. destruct (le_lt_dec s0 r0), (le_lt_dec s1 r1); lia. Qed.

Lemma slices_move_ends : forall start stop found s e, Window s e -> EndsMove found s e ->
  EndsMove (next_ends start stop found) (new_start start s e) (new_stop start stop s e).
Proof.
  intros start stop found s e w moves n. pose proof (w n) as w0. pose proof (w (S n)) as w1.
  unfold new_stop, new_start. destruct (moves n) as [[empty empty']|(at_ & to & here & starts & stops)].
  - left. rewrite empty, empty', !Nat.sub_diag. clear. generalize (start_at start 0), (stop_at stop 0). lia.
  - rewrite starts, stops in *.
    assert (small : Nat.b2n at_ <= 1 /\ Nat.b2n to <= 1) by (destruct at_, to; simpl; lia). destruct small as [sa st].
    pose proof (start_step start (s n) (e n) _ _ (proj1 w0) sa st (proj1 w1)) as first.
    pose proof (stop_step stop (s n) (e n) _ _ (proj1 w0) sa st (proj1 w1)) as last. cbv zeta in first, last.
    set (s0 := min (s n + start_at start (e n - s n)) (e n)) in *.
    set (s1 := min (s n + Nat.b2n at_ + start_at start (e n + Nat.b2n to - (s n + Nat.b2n at_))) (e n + Nat.b2n to)) in *.
    set (r0 := s n + min (stop_at stop (e n - s n)) (e n - s n)) in *.
    set (r1 := s n + Nat.b2n at_ + min (stop_at stop (e n + Nat.b2n to - (s n + Nat.b2n at_)))
                 (e n + Nat.b2n to - (s n + Nat.b2n at_))) in *.
    assert (r0 <= e n /\ r1 <= e n + Nat.b2n to /\ s n <= s0 /\ s n + Nat.b2n at_ <= s1) as (? & ? & ? & ?)
      by (subst s0 s1 r0 r1; lia).
    clearbody s0 s1 r0 r1.
    destruct first as [first|[[from first]|[at_end at_end']]]; [| | left; lia];
    (destruct last as [last|[[till last]|[at_start at_start']]]; [| | left; lia]);
    (destruct (empty_or_not s0 s1 r0 r1) as [none|[some some']]; [lia | lia | left; lia | right; rewrite some, some']).
    + exists at_, to. repeat split; auto. eapply in_next_ends; eauto.
    + exists at_, at_. repeat split; auto. eapply in_next_ends; eauto.
    + exists to, to. repeat split; auto. eapply in_next_ends; eauto.
    + exists to, at_. repeat split; auto. eapply in_next_ends; eauto.
Qed.

Lemma chain_is_a_window : forall slices, exists s e, Window s e /\ EndsMove (ends_of_chain slices) s e /\
  forall A (l : list A), chain slices l = window (s (length l)) (e (length l)) l.
Proof.
  intros slices. rewrite <- (rev_involutive slices). induction (rev slices) as [|(start, stop) rest IH]; simpl.
  - exists (fun _ => 0), (fun n => n). repeat split; intros; try lia.
    + right. exists false, true. simpl. repeat split; auto; lia.
    + unfold window. simpl. rewrite firstn_all. auto.
  - destruct IH as (s & e & w & moves & same). unfold chain, ends_of_chain in *.
    exists (new_start start s e), (new_stop start stop s e). rewrite fold_left_app. simpl.
    split; [apply slice_is_a_window; auto|]. split; [apply slices_move_ends; auto|].
    intros A l. rewrite fold_left_app. simpl. rewrite same. apply slice_of_a_window; auto.
Qed.

Lemma at_most_leaves : forall found s e, In (s, e) found -> 1 + Nat.b2n s - Nat.b2n e <= leaves found.
Proof.
  intros found s e here. unfold leaves.
  pose proof (proj1 (list_max_le (map (fun '(s, e) => 1 + Nat.b2n s - Nat.b2n e) found) _) (le_n _)) as all.
  rewrite Forall_forall in all. apply all. apply in_map_iff. exists (s, e). auto.
Qed.

(** A chain of slices is one step: each inserted row brings at most one row in, and lets at most [leaves] go out. *)
(* op: slice *)
Theorem chain_of_slices : forall slices A i d (l r : list A), Within i d l r ->
  Within (i + leaves (ends_of_chain slices) * d) (leaves (ends_of_chain slices) * i + d) (chain slices l) (chain slices r).
Proof.
  intros slices A i d l r near. set (out := leaves (ends_of_chain slices)).
  rewrite <- (Nat.mul_1_l i) at 1. rewrite <- (Nat.mul_1_l d) at 2.
  destruct (chain_is_a_window slices) as (s & e & w & moves & same).
  apply one_edit_is_enough; auto. intros front x back. rewrite !same, !app_length. simpl length. rewrite Nat.add_succ_r.
  set (n := length front + length back). destruct (moves n) as [[-> ->]|(at_ & to & here & -> & ->)].
  - unfold window. rewrite !skipn_all2 by (rewrite firstn_length; lia). eapply within_more; [| | apply within_same]; lia.
  - apply at_most_leaves in here. fold out in here. destruct at_, to; simpl in *; rewrite ?Nat.add_0_r, ?Nat.add_1_r.
    + eapply within_more; [| | apply both_ends_move]; lia.
    + eapply within_more; [| | apply start_moves_end_stays]; lia.
    + eapply within_more; [| | apply window_grows]; lia.
    + eapply within_more; [| | apply both_ends_stay]; lia.
Qed.

Corollary chain_of_slices_distance : forall slices A n (l r : list A), Apart n l r ->
  Apart ((1 + leaves (ends_of_chain slices)) * n) (chain slices l) (chain slices r).
Proof.
  intros slices A n l r (ins & del & s & few).
  assert (near : Within (length ins) (length del) l r) by (exists ins, del; auto).
  apply (chain_of_slices slices) in near. destruct near as (ins' & del' & s' & ? & ?). exists ins', del'. split; auto. nia.
Qed.

(** ** The last rows of the first ones: two edits, which are reached; and from the end to the front: three *)

Definition first_six_last_three : list (bound * bound) := [(None, Some 6%Z); (Some (-3)%Z, None)].

Example head_then_tail_claims_2 : 1 + leaves (ends_of_chain first_six_last_three) = 2.
Proof. reflexivity. Qed.
Example head_then_tail_reaches_2 :
  edits Nat.eq_dec (chain first_six_last_three [0; 0; 0]) (chain first_six_last_three [0; 0; 0; 1]) = 2.
Proof. reflexivity. Qed.
Example a_mixed_slice_in_a_chain_claims_3 : 1 + leaves (ends_of_chain [(None, Some (-1)%Z); (Some (-4)%Z, Some 5%Z)]) = 3.
Proof. reflexivity. Qed.
