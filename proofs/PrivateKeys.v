(** Keys that are themselves private: a key is shown only if its noisy count reaches a threshold.

    Which keys occur tells about people: a key that one person alone has must not appear. So each key that occurs gets noise
    on its count and is shown, with the noisy count, if that is at least τ. A key that does not occur is never shown. For one
    row more or less this is (1/b, δ)-differentially private, δ being the chance that a key of one row is shown. *)

From Coq Require Import Reals Lra Lia List ZArith.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Laws Laplace.
Import ListNotations.

(** ** How many persons have each key

    A person counts with a list of keys: the first few of her rows, each once. Whoever comes or goes moves the counts of
    these keys, each by one, and no other count. *)

Open Scope nat_scope.

Section KeyCounts.
Context {K : Type} (same : forall x y : K, {x = y} + {x <> y}).

Definition persons_with (key : K) (persons : list (list K)) : nat :=
  length (filter (fun keys => if in_dec same key keys then true else false) persons).

(* op: key_counts *)
Theorem keys_move_by_one : forall before keys after key,
  persons_with key (before ++ keys :: after) =
  persons_with key (before ++ after) + (if in_dec same key keys then 1 else 0).
Proof.
  intros. unfold persons_with. rewrite !filter_app, !app_length. simpl. destruct (in_dec same key keys); simpl; lia.
Qed.

(** Among all keys that there are, no more than her own. *)
(* op: key_counts *)
Theorem few_keys_move : forall before keys after all, NoDup all ->
  length (filter (fun key => negb (persons_with key (before ++ keys :: after) =? persons_with key (before ++ after))) all)
  <= length keys.
Proof.
  intros before keys after all distinct. apply NoDup_incl_length; [apply NoDup_filter; auto|].
  intros key found. apply filter_In in found as [_ moves]. rewrite keys_move_by_one in moves.
  destruct (in_dec same key keys); auto. rewrite Nat.add_0_r, Nat.eqb_refl in moves. discriminate.
Qed.
End KeyCounts.

Open Scope R_scope.

Section PrivateKeys.
Context (b : posreal) (threshold : Z).

Definition reaches (y : Z) : bool := (threshold <=? y)%Z.

(** What is shown of one key, for its number of rows. *)
Definition shown (rows : nat) : law (option Z) :=
  match rows with
  | O => ret None
  | _ => bind (laplace b (Z.of_nat rows)) (fun y => ret (if reaches y then Some y else None))
  end.

(** The chance that a key with one row is shown. *)
Definition delta : R := measure (laplace b 1) reaches.

Fixpoint table (counts : list nat) : law (list (option Z)) :=
  match counts with
  | [] => ret []
  | rows :: rest => bind (shown rows) (fun o => bind (table rest) (fun os => ret (o :: os)))
  end.

Lemma delta_between : 0 <= delta <= 1.
Proof.
  unfold delta, measure. split; [apply E_not_negative | apply E_at_most]; auto with laws; apply indicator_between.
Qed.

(** A key that only one of the two tables has: it is hidden with probability 1 - δ. *)
Lemma new_key : DP_inequality (shown 0) (shown 1) 0 delta /\ DP_inequality (shown 1) (shown 0) 0 delta.
Proof.
  assert (hidden : E (laplace b 1) (fun y => 1 - indicator reaches y) = 1 - delta).
  { rewrite (E_same _ (fun y => 1 - indicator reaches y) (fun y => 1 + -1 * indicator reaches y)).
    - rewrite E_plus, E_scale, E_one by auto with laws. unfold delta, measure. ring.
    - apply (bounded_between _ 1). intros y. pose proof (indicator_between reaches y). lra.
    - intros. ring. }
  assert (bh : Bounded (fun y => 1 - indicator reaches y))
    by (apply (bounded_between _ 1); intros y; pose proof (indicator_between reaches y); lra).
  pose proof delta_between as range.
  split; intros S; unfold measure; cbn [shown]; rewrite exp_0, Rmult_1_l.
  - change (indicator S None <= E (laplace b 1) (fun y => indicator S (if reaches y then Some y else None)) + delta).
    assert (indicator S None * (1 - delta) <= E (laplace b 1) (fun y => indicator S (if reaches y then Some y else None))).
    { rewrite <- hidden, <- E_scale by auto. apply E_monotone; auto with laws. intros y. unfold indicator at 2.
      pose proof (indicator_between S None). destruct (reaches y); [|lra].
      pose proof (indicator_between S (Some y)). lra. }
    pose proof (indicator_between S None). nra.
  - change (E (laplace b 1) (fun y => indicator S (if reaches y then Some y else None)) <= indicator S None + delta).
    unfold delta, measure. rewrite <- (E_constant (laplace b 1) (indicator S None)), <- E_plus by auto with laws.
    apply E_monotone; auto with laws. intros y. unfold indicator at 3. pose proof (indicator_between S None).
    destruct (reaches y); [|lra]. pose proof (indicator_between S (Some y)). lra.
Qed.

(** A key that both tables have, with one row more in one of them. *)
Lemma old_key : forall n, DP_inequality (shown (S n)) (shown (S (S n))) (1 / b) 0 /\
                          DP_inequality (shown (S (S n))) (shown (S n)) (1 / b) 0.
Proof.
  intros n. assert (one : forall x y, Z.abs (x - y) = 1%Z -> DP_inequality (laplace b x) (laplace b y) (1 / b) 0).
  { intros x y apart. pose proof (laplace_mechanism b x y) as private. rewrite apart in private. exact private. }
  split; apply post_processing, one; lia.
Qed.

Lemma inverse_positive : 0 <= 1 / b.
Proof. pose proof (Rinv_0_lt_compat b (cond_pos b)). unfold Rdiv. lra. Qed.

Lemma one_key : forall n, DP_inequality (shown n) (shown (S n)) (1 / b) delta /\
                          DP_inequality (shown (S n)) (shown n) (1 / b) delta.
Proof.
  pose proof inverse_positive. pose proof delta_between.
  intros [|n].
  - destruct new_key as [up down]. split; apply (promising_less _ _ _ 0 delta); auto; lra.
  - destruct (old_key n) as [up down]. split; apply (promising_less _ _ _ (1 / b) 0); auto; lra.
Qed.

(** One row more, in a key that occurs or in one that does not: (1/b, δ). *)
Theorem private_keys : forall before rows after,
  DP_inequality (table (before ++ rows :: after)) (table (before ++ S rows :: after)) (1 / b) delta /\
  DP_inequality (table (before ++ S rows :: after)) (table (before ++ rows :: after)) (1 / b) delta.
Proof.
  pose proof delta_between as range. intros before rows after.
  induction before as [|c before [up down]]; simpl.
  - destruct (one_key rows) as [up down].
    split; rewrite <- (Rplus_0_r (1 / b)), <- (Rplus_0_r delta); apply bind_composition; auto; try lra;
      intros; apply same_law.
  - assert (tail : forall x y, DP_inequality (table x) (table y) (1 / b) delta ->
      DP_inequality (bind (shown c) (fun o => bind (table x) (fun os => ret (o :: os))))
                    (bind (shown c) (fun o => bind (table y) (fun os => ret (o :: os)))) (1 / b) delta).
    { intros x y near. rewrite <- (Rplus_0_l (1 / b)), <- (Rplus_0_l delta).
      apply bind_composition; [lra | apply same_law |]. intros o. apply post_processing. exact near. }
    split; apply tail; auto.
Qed.

(** A person who moves several keys, each by one: (n/b, n·δ) for n keys, whether others have them or not. *)
Fixpoint moved (counts : list nat) (moves : list bool) : list nat :=
  match counts, moves with
  | rows :: rest, m :: ms => (if m then S rows else rows) :: moved rest ms
  | _, _ => counts
  end.

Definition how_many (moves : list bool) : nat := length (filter (fun m => m) moves).

(* mechanism: PrivateKeys *)
Theorem private_keys_of_a_person : forall counts moves,
  DP_inequality (table counts) (table (moved counts moves)) (INR (how_many moves) * (1 / b)) (INR (how_many moves) * delta) /\
  DP_inequality (table (moved counts moves)) (table counts) (INR (how_many moves) * (1 / b)) (INR (how_many moves) * delta).
Proof.
  pose proof delta_between as range. pose proof inverse_positive as positive.
  assert (still : forall t moves, DP_inequality (table t) (table t) (INR (how_many moves) * (1 / b)) (INR (how_many moves) * delta)).
  { intros t moves. pose proof (pos_INR (how_many moves)).
    apply (promising_less _ _ _ 0 0); [apply Rmult_le_pos; lra | apply Rmult_le_pos; lra | apply same_law]. }
  induction counts as [|rows counts IH]; intros moves; [split; apply still|].
  destruct moves as [|m moves]; [split; apply still|].
  destruct (IH moves) as [up down]. pose proof (pos_INR (how_many moves)).
  assert (0 <= INR (how_many moves) * delta) by (apply Rmult_le_pos; lra).
  destruct m; cbn [moved table].
  - replace (INR (how_many (true :: moves))) with (1 + INR (how_many moves)) by
      (unfold how_many; cbn [filter length]; rewrite S_INR; ring).
    rewrite !Rmult_plus_distr_r, !Rmult_1_l. destruct (one_key rows) as [more fewer].
    split; apply bind_composition; auto; intros; apply post_processing; auto.
  - replace (INR (how_many (false :: moves))) with (INR (how_many moves)) by reflexivity.
    rewrite <- (Rplus_0_l (INR (how_many moves) * (1 / b))), <- (Rplus_0_l (INR (how_many moves) * delta)).
    split; apply bind_composition; auto using same_law; intros; apply post_processing; auto.
Qed.
End PrivateKeys.
