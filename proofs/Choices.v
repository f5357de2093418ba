(** Choosing one of m options: laws with finitely many answers, and the exponential mechanism
    (src/privjail/mechanisms/exponential.py). *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Laws Laplace NoisyMax.
Import ListNotations.
Open Scope R_scope.

(** ** Option i with probability proportional to weight i *)

Lemma sum_to_scale : forall m c f, sum_to m (fun i => c * f i) = c * sum_to m f.
Proof. induction m; intros c f; simpl; [ring|]. rewrite IHm. ring. Qed.

Lemma sum_to_plus : forall m f g, sum_to m (fun i => f i + g i) = sum_to m f + sum_to m g.
Proof. induction m; intros f g; simpl; [ring|]. rewrite IHm. ring. Qed.

Lemma sum_to_le : forall m f g, (forall i, (i < m)%nat -> f i <= g i) -> sum_to m f <= sum_to m g.
Proof.
  induction m as [|m IH]; intros f g less; simpl; [lra|].
  specialize (IH f g (fun i lt => less i (Nat.lt_lt_succ_r _ _ lt))). specialize (less m (Nat.lt_succ_diag_r m)). lra.
Qed.

Lemma sum_to_same : forall m f g, (forall i, (i < m)%nat -> f i = g i) -> sum_to m f = sum_to m g.
Proof.
  intros m f g same. apply Rle_antisym; apply sum_to_le; intros i less; rewrite (same i less); lra.
Qed.

Definition choose (m : nat) (w : nat -> R) (positive : forall i, 0 <= w i) (some : 0 < sum_to m w) : law nat.
Proof.
  refine {| E := fun f => sum_to m (fun i => w i * f i) / sum_to m w |}.
  - intros f g _ _ less. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto|].
    apply sum_to_le. intros i _. apply Rmult_le_compat_l; auto.
  - intros f g _ _. unfold Rdiv. rewrite <- Rmult_plus_distr_r, <- sum_to_plus. f_equal.
    apply sum_to_same. intros; ring.
  - intros c f _. unfold Rdiv. rewrite <- Rmult_assoc, <- sum_to_scale. f_equal. apply sum_to_same. intros; ring.
  - rewrite (sum_to_same m _ w) by (intros; ring). field. lra.
Defined.

(** Where no weight moves by more than a factor of c in either direction, every probability moves by at most c². *)
Lemma weights_move : forall m w w' p p' s s' c, 0 < c -> (forall i, (i < m)%nat -> w i <= c * w' i) ->
  (forall i, (i < m)%nat -> w' i <= c * w i) -> Factor (c * c) (choose m w p s) (choose m w' p' s').
Proof.
  intros m w w' p p' s s' c pos up down f bf fpos. simpl.
  assert (top : sum_to m (fun i => w i * f i) <= c * sum_to m (fun i => w' i * f i)).
  { rewrite <- sum_to_scale. apply sum_to_le. intros i less. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; auto. }
  assert (bottom : sum_to m w' <= c * sum_to m w) by (rewrite <- sum_to_scale; apply sum_to_le; auto).
  assert (0 <= sum_to m (fun i => w' i * f i)).
  { clear - p' fpos. induction m; simpl; [lra|]. pose proof (Rmult_le_pos _ _ (p' m) (fpos m)). lra. }
  apply (Rmult_le_reg_r (sum_to m w)); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply (Rmult_le_reg_r (sum_to m w')); auto.
  replace (c * c * (sum_to m (fun i => w' i * f i) * / sum_to m w') * sum_to m w * sum_to m w')
    with ((c * sum_to m (fun i => w' i * f i)) * (c * sum_to m w)) by (field; lra).
  apply Rmult_le_compat; auto; [|lra].
  clear - p fpos. induction m; simpl; [lra|]. pose proof (Rmult_le_pos _ _ (p m) (fpos m)). lra.
Qed.

(** ** The exponential mechanism *)

Definition exponential_weight (eps reach : R) (score : nat -> R) (i : nat) : R := exp (eps * score i / (2 * reach)).

Lemma exponential_positive : forall eps reach score i, 0 <= exponential_weight eps reach score i.
Proof. intros. left. apply exp_pos. Qed.

Lemma exponential_some : forall m eps reach score, 0 < sum_to (S m) (exponential_weight eps reach score).
Proof.
  intros m eps reach score. simpl.
  assert (0 <= sum_to m (exponential_weight eps reach score)).
  { induction m; simpl; [lra|]. pose proof (exponential_positive eps reach score m). lra. }
  pose proof (exp_pos (eps * score m / (2 * reach)) : 0 < exponential_weight eps reach score m). lra.
Qed.

(** One of m + 1 options. *)
Definition exponential_mechanism (m : nat) (eps reach : R) (score : nat -> R) : law nat :=
  choose (S m) (exponential_weight eps reach score) (exponential_positive eps reach score)
    (exponential_some m eps reach score).

(** Scores that move by at most [d] cost ε·d/reach: ε at the full reach, and proportionally less for less. *)
(* mechanism: Exponential *)
Theorem exponential_mechanism_is_private : forall m eps reach score score' d, 0 < eps -> 0 < reach -> 0 <= d ->
  (forall i, (i <= m)%nat -> Rabs (score i - score' i) <= d) ->
  DP_inequality (exponential_mechanism m eps reach score) (exponential_mechanism m eps reach score') (eps * d / reach) 0.
Proof.
  intros m eps reach score score' d epos rpos dpos near. apply factor_is_pure_privacy.
  replace (eps * d / reach) with (eps * d / (2 * reach) + eps * d / (2 * reach)) by (field; lra). rewrite exp_plus.
  assert (all : forall s s' : nat -> R, (forall i, (i <= m)%nat -> s i - s' i <= d) -> forall i, (i < S m)%nat ->
    exponential_weight eps reach s i <= exp (eps * d / (2 * reach)) * exponential_weight eps reach s' i).
  { intros s s' less i inside. unfold exponential_weight. rewrite <- exp_plus.
    assert (eps * s i / (2 * reach) <= eps * d / (2 * reach) + eps * s' i / (2 * reach)) as [lt|eq].
    { apply (Rmult_le_reg_r (2 * reach)); [lra|]. unfold Rdiv. rewrite Rmult_plus_distr_r, !Rmult_assoc, Rinv_l by lra.
      specialize (less i ltac:(lia)). pose proof (Rmult_le_compat_l eps _ _ (Rlt_le _ _ epos) less). lra. }
    - left. apply exp_increasing; auto.
    - rewrite eq. lra. }
  apply weights_move; [apply exp_pos | |]; apply all; intros i inside; specialize (near i inside);
    revert near; unfold Rabs; destruct Rcase_abs; lra.
Qed.
