(** Random samples: each row is drawn by a coin of its own (src/privjail/ops/rows/sample.py, src/privjail/budget/sampling.py).

    Given the coins, a sample is a filter. Averaged over the coin of one row, what is released about a sample that is drawn
    with chance q costs its table ln (1 + q (eᶜ - 1)) where it costs the sample c. *)

From Coq Require Import Reals Lra List Bool.
From PrivJail Require Import Distance Rows.
Import ListNotations.
Open Scope R_scope.

(** A row comes with its coin. Rows that neighbours share have the same coins, as their law is the same on both. *)
Definition sample {A : Type} (rows : list (A * bool)) : list A := map fst (filter snd rows).

(* op: sample *)
Theorem a_sample_keeps_the_distance : forall (A : Type) ins del (l r : list (A * bool)),
  Script ins del l r -> Script (sample ins) (sample del) (sample l) (sample r).
Proof.
  intros A ins del l r s. unfold sample. induction s; simpl; try destruct (snd x); simpl; auto; constructor; auto.
Qed.

(** ** The cost of samples in the tree of cells

    Fix the answers that an analyst saw and the coins of all rows but one. A tree says how the chance of these answers is
    made up. [Answered eps p q]: one answer, of chance p with the row and q without, from a release that costs eps.
    [Both a b]: answers side by side. [Either first a b]: answers about two groups that exclude each other; the row is in
    one of them. [Drawn q a]: answers about a sample, in which the row is with chance q. *)
Inductive tree : Type :=
| Nothing
| Answered (eps p q : R)
| Both (a b : tree)
| Either (first : bool) (a b : tree)
| Drawn (q : R) (a : tree).

Fixpoint without (t : tree) : R :=
  match t with
  | Nothing => 1
  | Answered _ _ q => q
  | Both a b | Either _ a b => without a * without b
  | Drawn _ a => without a
  end.

Fixpoint with_row (t : tree) : R :=
  match t with
  | Nothing => 1
  | Answered _ p _ => p
  | Both a b => with_row a * with_row b
  | Either first a b => if first then with_row a * without b else without a * with_row b
  | Drawn q a => (1 - q) * without a + q * with_row a
  end.

(** What the ledger says. *)
Fixpoint tree_cost (t : tree) : R :=
  match t with
  | Nothing => 0
  | Answered eps _ _ => eps
  | Both a b => tree_cost a + tree_cost b
  | Either _ a b => Rmax (tree_cost a) (tree_cost b)
  | Drawn q a => ln (1 + q * (exp (tree_cost a) - 1))
  end.

Fixpoint Right (t : tree) : Prop :=
  match t with
  | Nothing => True
  | Answered eps p q => 0 <= eps /\ 0 <= p /\ 0 <= q /\ p <= exp eps * q /\ q <= exp eps * p
  | Both a b | Either _ a b => Right a /\ Right b
  | Drawn q a => 0 <= q <= 1 /\ Right a
  end.

Lemma exp_at_least_one : forall x, 0 <= x -> 1 <= exp x.
Proof. intros x pos. rewrite <- exp_0. destruct pos as [lt| <-]; [left; apply exp_increasing; auto | lra]. Qed.

Lemma exp_more : forall x y, x <= y -> exp x <= exp y.
Proof. intros x y [lt| ->]; [left; apply exp_increasing; auto | lra]. Qed.

Lemma sampled_factor : forall q x, 0 <= q <= 1 -> 1 <= x -> 1 <= 1 + q * (x - 1) <= x.
Proof.
  intros q x [low high] big. split.
  - pose proof (Rmult_le_pos q (x - 1) low ltac:(lra)). lra.
  - pose proof (Rmult_le_compat_r (x - 1) q 1 ltac:(lra) high). lra.
Qed.

Lemma cost_not_negative : forall t, Right t -> 0 <= tree_cost t.
Proof.
  induction t; simpl; intros right.
  - lra.
  - tauto.
  - destruct right as [ra rb]. specialize (IHt1 ra). specialize (IHt2 rb). lra.
  - destruct right as [ra rb]. specialize (IHt1 ra). apply Rle_trans with (tree_cost t1); auto. apply Rmax_l.
  - destruct right as [range right]. specialize (IHt right).
    pose proof (sampled_factor q _ range (exp_at_least_one _ IHt)) as [least _].
    rewrite <- ln_1. destruct least as [lt|same]; [left; apply ln_increasing; lra | rewrite <- same; lra].
Qed.

Lemma chances_not_negative : forall t, Right t -> 0 <= without t /\ 0 <= with_row t.
Proof.
  induction t; simpl; intros right.
  - lra.
  - tauto.
  - destruct right as [ra rb]. destruct (IHt1 ra), (IHt2 rb). split; apply Rmult_le_pos; auto.
  - destruct right as [ra rb]. destruct (IHt1 ra), (IHt2 rb). destruct first; split; apply Rmult_le_pos; auto.
  - destruct right as [range right]. destruct (IHt right) as [a b]. split; auto.
    apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto; lra.
Qed.

Lemma product_near : forall c d p q p' q', 0 <= p -> 0 <= q -> 0 <= p' -> 0 <= q' ->
  p <= exp c * q -> p' <= exp d * q' -> p * p' <= exp (c + d) * (q * q').
Proof.
  intros. rewrite exp_plus. replace (exp c * exp d * (q * q')) with ((exp c * q) * (exp d * q')) by ring.
  apply Rmult_le_compat; auto.
Qed.

Lemma near_more : forall c d p q, 0 <= q -> c <= d -> p <= exp c * q -> p <= exp d * q.
Proof.
  intros c d p q pos less near. eapply Rle_trans; [exact near|]. apply Rmult_le_compat_r; auto. apply exp_more; auto.
Qed.

(** A sample: one of two chances, where the one is near the other. *)
Lemma sampled_near : forall c q w v, 0 <= c -> 0 <= q <= 1 -> 0 <= w -> 0 <= v ->
  v <= exp c * w -> w <= exp c * v ->
  (1 - q) * w + q * v <= (1 + q * (exp c - 1)) * w /\ w <= (1 + q * (exp c - 1)) * ((1 - q) * w + q * v).
Proof.
  intros c q w v pos range pw pv near back. pose proof (exp_at_least_one c pos) as big. set (x := exp c) in *. split.
  - pose proof (Rmult_le_compat_l q v (x * w) (proj1 range) near). nra.
  - (* (1 - q + q x) (1 - q + q / x) ≥ 1, and v ≥ w / x *)
    assert (least : w / x <= v) by (apply (Rmult_le_reg_l x); [lra|]; unfold Rdiv; field_simplify; lra).
    assert (mean : (1 - q) * w + q * (w / x) <= (1 - q) * w + q * v).
    { apply Rplus_le_compat_l. apply Rmult_le_compat_l; [lra | exact least]. }
    pose proof (sampled_factor q x range big) as [one _].
    eapply Rle_trans; [|apply Rmult_le_compat_l; [lra | exact mean]].
    assert (gap : (1 + q * (x - 1)) * ((1 - q) * w + q * (w / x)) - w = w * (q * (1 - q)) * ((x - 1) * (x - 1) / x))
      by (field; lra).
    assert (0 <= w * (q * (1 - q)) * ((x - 1) * (x - 1) / x)).
    { assert (0 <= / x) by (left; apply Rinv_0_lt_compat; lra). unfold Rdiv. repeat apply Rmult_le_pos; lra. }
    lra.
Qed.

(** However releases on samples, on samples of samples, on groups of them and on whole tables stand beside and below each
    other: the row changes the chance of all answers by a factor of at most e to the cost, in both directions. *)
Theorem samples_cost_what_the_ledger_says : forall t, Right t ->
  with_row t <= exp (tree_cost t) * without t /\ without t <= exp (tree_cost t) * with_row t.
Proof.
  induction t; simpl; intros right.
  - rewrite exp_0. lra.
  - tauto.
  - destruct right as [ra rb]. destruct (IHt1 ra), (IHt2 rb).
    destruct (chances_not_negative t1 ra), (chances_not_negative t2 rb). split; apply product_near; auto.
  - destruct right as [ra rb]. destruct (IHt1 ra) as [n1 b1], (IHt2 rb) as [n2 b2].
    destruct (chances_not_negative t1 ra) as [w1 v1], (chances_not_negative t2 rb) as [w2 v2].
    set (c := Rmax (tree_cost t1) (tree_cost t2)).
    pose proof (Rmax_l (tree_cost t1) (tree_cost t2)) as l. pose proof (Rmax_r (tree_cost t1) (tree_cost t2)) as r.
    fold c in l, r. destruct first.
    + replace c with (c + 0) by ring. split; apply product_near; auto; try (rewrite exp_0; lra);
        apply (near_more (tree_cost t1)); auto.
    + replace c with (0 + c) by ring. split; apply product_near; auto; try (rewrite exp_0; lra);
        apply (near_more (tree_cost t2)); auto.
  - destruct right as [range right]. destruct (IHt right) as [near back].
    destruct (chances_not_negative t right) as [w v]. pose proof (cost_not_negative t right) as pos.
    pose proof (sampled_factor q _ range (exp_at_least_one _ pos)) as [one _].
    rewrite exp_ln by lra. apply sampled_near; auto.
Qed.

(** A sample never costs its table more than it costs itself. *)
Theorem a_sample_costs_no_more_than_all_rows : forall q a, Right (Drawn q a) -> tree_cost (Drawn q a) <= tree_cost a.
Proof.
  intros q a [range right]. simpl. pose proof (cost_not_negative a right) as pos.
  pose proof (sampled_factor q _ range (exp_at_least_one _ pos)) as [one less].
  rewrite <- (ln_exp (tree_cost a)) at 2. destruct less as [lt| ->]; [left; apply ln_increasing; lra | lra].
Qed.

(** The coins of the other rows have the same law with the row and without it: averaging over them changes nothing. *)
Theorem coins_of_other_rows_cost_nothing : forall c (worlds : list (R * (R * R))),
  (forall chance p q, In (chance, (p, q)) worlds -> 0 <= chance /\ p <= exp c * q) ->
  fold_right (fun '(chance, (p, _)) sum => chance * p + sum) 0 worlds <=
  exp c * fold_right (fun '(chance, (_, q)) sum => chance * q + sum) 0 worlds.
Proof.
  intros c worlds near. induction worlds as [|[chance [p q]] worlds IH]; simpl; [lra|].
  destruct (near chance p q (or_introl eq_refl)) as [pos less].
  assert (rest := IH (fun chance' p' q' there => near chance' p' q' (or_intror there))).
  pose proof (Rmult_le_compat_l chance _ _ pos less). rewrite Rmult_plus_distr_l.
  apply Rplus_le_compat; auto. eapply Rle_trans; [eassumption|]. right. ring.
Qed.

(** The bound is reached: one answer about one sample. *)
Example the_cost_of_a_sample_is_reached : forall q eps, 0 <= q <= 1 -> 0 <= eps ->
  let t := Drawn q (Answered eps (exp eps) 1) in with_row t = exp (tree_cost t) * without t.
Proof.
  intros q eps range pos. simpl. pose proof (sampled_factor q _ range (exp_at_least_one _ pos)) as [one _].
  rewrite exp_ln by lra. ring.
Qed.
