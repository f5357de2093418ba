(** Discrete Laplace noise, and independent noise for each element of a vector (src/privjail/mechanisms/laplace.py). *)

From Coq Require Import Reals Lra Lia List ZArith.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Laws.
Import ListNotations.
Open Scope R_scope.

Lemma series_not_negative : forall a, (forall n, 0 <= a n) -> ex_series a -> 0 <= Series a.
Proof.
  intros a pos converge. replace 0 with (Series (fun n => 0 * a n)) by (rewrite Series_scal_l; ring).
  apply Series_le; auto. intros n. specialize (pos n). lra.
Qed.

(** ** The law: Pr[X = z] = (1 - α)/(1 + α)·α^|z| for all integers z, with α = e^(-1/b) *)

Section DiscreteLaplace.
Variable alpha : R.
Hypothesis between : 0 < alpha < 1.

Definition right_side (f : Z -> R) : R := Series (fun n => alpha ^ S n * f (Z.of_nat (S n))).
Definition left_side (f : Z -> R) : R := Series (fun n => alpha ^ S n * f (- Z.of_nat (S n))%Z).
Definition centre : R := (1 - alpha) / (1 + alpha).
Definition mean (f : Z -> R) : R := centre * (f 0%Z + right_side f + left_side f).

Lemma centre_positive : 0 < centre.
Proof. unfold centre. apply Rdiv_lt_0_compat; lra. Qed.

Lemma converges : forall (k : nat -> Z) f, Bounded f -> ex_series (fun n => alpha ^ S n * f (k n)).
Proof.
  intros k f [c bound].
  apply (@ex_series_le R_AbsRing R_CompleteNormedModule _ (fun n => (alpha * Rabs c) * alpha ^ n)).
  - intros n. change (norm (alpha ^ S n * f (k n))) with (Rabs (alpha ^ S n * f (k n))).
    rewrite Rabs_mult, Rabs_right by (apply Rle_ge, pow_le; lra). simpl.
    specialize (bound (k n)). pose proof (Rle_abs c). pose proof (pow_le alpha n ltac:(lra)).
    assert (alpha * alpha ^ n * Rabs (f (k n)) <= alpha * alpha ^ n * Rabs c)
      by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | lra]). lra.
  - apply (@ex_series_scal_l R_AbsRing R_NormedModule (alpha * Rabs c) (fun n => alpha ^ n)).
    apply ex_series_geom. rewrite Rabs_right; lra.
Qed.

Lemma series_le : forall (k : nat -> Z) f g, Bounded f -> Bounded g -> (forall z, f z <= g z) ->
  Series (fun n => alpha ^ S n * f (k n)) <= Series (fun n => alpha ^ S n * g (k n)).
Proof.
  intros k f g bf bg less.
  assert (0 <= Series (fun n => alpha ^ S n * g (k n)) - Series (fun n => alpha ^ S n * f (k n))).
  { rewrite <- Series_minus by (apply converges; auto).
    apply series_not_negative.
    - intros n. specialize (less (k n)). pose proof (pow_le alpha (S n) ltac:(lra)).
      pose proof (Rmult_le_compat_l _ _ _ H less). lra.
    - apply (@ex_series_minus R_AbsRing R_NormedModule (fun n => alpha ^ S n * g (k n)) (fun n => alpha ^ S n * f (k n))); apply converges; auto. }
  lra.
Qed.

Lemma series_plus : forall (k : nat -> Z) f g, Bounded f -> Bounded g ->
  Series (fun n => alpha ^ S n * (f (k n) + g (k n))) =
  Series (fun n => alpha ^ S n * f (k n)) + Series (fun n => alpha ^ S n * g (k n)).
Proof.
  intros k f g bf bg. rewrite <- Series_plus by (apply converges; auto). apply Series_ext. intros n. ring.
Qed.

Lemma series_scale : forall (k : nat -> Z) c f,
  Series (fun n => alpha ^ S n * (c * f (k n))) = c * Series (fun n => alpha ^ S n * f (k n)).
Proof. intros k c f. rewrite <- Series_scal_l. apply Series_ext. intros n. ring. Qed.

Lemma series_ones : Series (fun n => alpha ^ S n * 1) = alpha / (1 - alpha).
Proof.
  rewrite (Series_ext _ (fun n => alpha * alpha ^ n)) by (intros; simpl; ring).
  rewrite Series_scal_l, Series_geom by (rewrite Rabs_right; lra). reflexivity.
Qed.

Definition discrete_laplace : law Z.
Proof.
  pose proof centre_positive as c0.
  refine {| E := mean |}.
  - intros f g bf bg less. unfold mean. apply Rmult_le_compat_l; [lra|].
    pose proof (series_le (fun n => Z.of_nat (S n)) f g bf bg less).
    pose proof (series_le (fun n => (- Z.of_nat (S n))%Z) f g bf bg less).
    specialize (less 0%Z). unfold right_side, left_side. lra.
  - intros f g bf bg. unfold mean, right_side, left_side.
    rewrite (series_plus (fun n => Z.of_nat (S n))), (series_plus (fun n => (- Z.of_nat (S n))%Z)) by auto. ring.
  - intros c f bf. unfold mean, right_side, left_side.
    rewrite (series_scale (fun n => Z.of_nat (S n))), (series_scale (fun n => (- Z.of_nat (S n))%Z)). ring.
  - unfold mean, right_side, left_side. rewrite series_ones. unfold centre. field. lra.
Defined.

(** Moving everything by one step changes an expectation by a factor of at most 1/α. *)
Lemma one_step_up : forall f, Bounded f -> (forall z, 0 <= f z) -> alpha * mean (fun z => f (z + 1)%Z) <= mean f.
Proof.
  intros f bf pos. unfold mean. rewrite <- Rmult_assoc, (Rmult_comm alpha), Rmult_assoc.
  apply Rmult_le_compat_l; [left; apply centre_positive|].
  assert (right : alpha * (f (0 + 1)%Z + right_side (fun z => f (z + 1)%Z)) = right_side f).
  { unfold right_side at 2. rewrite Series_incr_1 by (apply (converges (fun n => Z.of_nat (S n))); auto).
    rewrite Rmult_plus_distr_l. unfold right_side. rewrite <- Series_scal_l. simpl pow at 2. rewrite Rmult_1_r.
    f_equal. apply Series_ext. intros n. rewrite <- Rmult_assoc. f_equal. f_equal. lia. }
  assert (left : left_side (fun z => f (z + 1)%Z) = alpha * f 0%Z + alpha * left_side f).
  { unfold left_side at 1. rewrite Series_incr_1
      by (apply (converges (fun n => (- Z.of_nat (S n) + 1)%Z)); auto). simpl pow at 1. rewrite Rmult_1_r.
    f_equal. unfold left_side. rewrite <- Series_scal_l. apply Series_ext. intros n.
    rewrite <- Rmult_assoc. f_equal. f_equal. lia. }
  assert (0 <= left_side f).
  { unfold left_side. apply series_not_negative; [|apply (converges (fun n => (- Z.of_nat (S n))%Z)); auto].
    intros n. apply Rmult_le_pos; auto. apply pow_le; lra. }
  specialize (pos 0%Z). rewrite left.
  replace (alpha * (f (0 + 1)%Z + right_side (fun z => f (z + 1)%Z) + (alpha * f 0%Z + alpha * left_side f)))
    with (alpha * (f (0 + 1)%Z + right_side (fun z => f (z + 1)%Z)) + alpha * alpha * (f 0%Z + left_side f)) by ring.
  rewrite right. assert (alpha * alpha <= 1) by nra. nra.
Qed.

Lemma mirrored : forall f, mean (fun z => f (- z)%Z) = mean f.
Proof.
  intros f. unfold mean, right_side, left_side. simpl Z.opp at 1.
  rewrite (Series_ext (fun n => alpha ^ S n * f (- - Z.of_nat (S n))%Z) (fun n => alpha ^ S n * f (Z.of_nat (S n))))
    by (intros; rewrite Z.opp_involutive; auto). ring.
Qed.
End DiscreteLaplace.

(** ** How far a law moves *)

(** Pure ε as a factor on all expectations: [Factor c M N] says E M f ≤ c·E N f for every f ≥ 0. *)
Definition Factor {A : Type} (c : R) (M N : law A) : Prop :=
  forall f, Bounded f -> (forall a, 0 <= f a) -> E M f <= c * E N f.

Lemma factor_is_pure_privacy : forall (A : Type) (M N : law A) eps,
  Factor (exp eps) M N <-> DP_inequality M N eps 0.
Proof.
  split.
  - intros near S. unfold measure. rewrite Rplus_0_r. apply near; auto with laws. apply indicator_between.
  - intros private f bf pos. apply sets_are_enough_pure; auto.
Qed.

Lemma factor_bind : forall (A B : Type) (M N : law A) (K L : A -> law B) c d, 0 <= d ->
  Factor c M N -> (forall a, Factor d (K a) (L a)) -> Factor (c * d) (bind M K) (bind N L).
Proof.
  intros A B M N K L c d pos first second f bf fpos. simpl.
  assert (not_negative : forall (J : A -> law B) a, 0 <= E (J a) f) by (intros; apply E_not_negative; auto).
  apply Rle_trans with (E M (fun a => d * E (L a) f)).
  - apply E_monotone; auto with laws. intros a. apply second; auto.
  - rewrite E_scale by auto with laws. rewrite (Rmult_comm c), Rmult_assoc. apply Rmult_le_compat_l; auto.
    apply first; auto with laws.
Qed.

Lemma factor_same : forall (A : Type) (M : law A), Factor 1 M M.
Proof. intros A M f bf pos. lra. Qed.

(** A noise moves at rate 1/[b] if moving it by [s] steps changes expectations by a factor of at most e^(|s|/b). *)
Definition Shifts (b : R) (M : law Z) : Prop :=
  forall s f, Bounded f -> (forall z, 0 <= f z) -> E M (fun z => f (z + s)%Z) <= exp (IZR (Z.abs s) / b) * E M f.

Lemma between_0_and_1 : forall b : posreal, 0 < exp (- / b) < 1.
Proof.
  intros [b pos]. simpl. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing.
  pose proof (Rinv_0_lt_compat b pos). lra.
Qed.

(** The noise that is drawn with scale [b]. *)
Definition laplace_noise (b : posreal) : law Z := discrete_laplace (exp (- / b)) (between_0_and_1 b).

Lemma laplace_noise_shifts : forall b : posreal, Shifts b (laplace_noise b).
Proof.
  intros b. pose proof (between_0_and_1 b) as between. set (alpha := exp (- / b)) in *.
  assert (inverse : exp (/ b) * alpha = 1)
    by (unfold alpha; rewrite <- exp_plus; replace (/ b + - / b) with 0 by ring; apply exp_0).
  assert (up : forall f, Bounded f -> (forall z, 0 <= f z) ->
    E (laplace_noise b) (fun z => f (z + 1)%Z) <= exp (/ b) * E (laplace_noise b) f).
  { intros f bf pos. pose proof (one_step_up alpha between f bf pos) as less.
    change (mean alpha (fun z => f (z + 1)%Z) <= exp (/ b) * mean alpha f).
    rewrite <- (Rmult_1_l (mean alpha (fun z => f (z + 1)%Z))), <- inverse, Rmult_assoc.
    apply Rmult_le_compat_l; auto. left; apply exp_pos. }
  assert (up_many : forall n f, Bounded f -> (forall z, 0 <= f z) ->
    E (laplace_noise b) (fun z => f (z + Z.of_nat n)%Z) <= exp (INR n / b) * E (laplace_noise b) f).
  { induction n as [|n IH]; intros f bf pos.
    - simpl INR. replace (0 / b) with 0 by (unfold Rdiv; ring). rewrite exp_0, Rmult_1_l. right.
      apply E_same; auto with laws. intros z. f_equal. lia.
    - apply Rle_trans with (E (laplace_noise b) (fun z => f ((z + 1) + Z.of_nat n)%Z)).
      + right. apply E_same; auto with laws. intros z. f_equal. lia.
      + eapply Rle_trans; [apply (up (fun z => f (z + Z.of_nat n)%Z)); auto with laws|].
        specialize (IH f bf pos). rewrite S_INR. replace ((INR n + 1) / b) with (/ b + INR n / b)
          by (unfold Rdiv; ring). rewrite exp_plus, Rmult_assoc.
        apply Rmult_le_compat_l; auto. left; apply exp_pos. }
  intros s f bf pos. destruct (Z_le_gt_dec 0 s) as [right|left].
  - rewrite Z.abs_eq by auto. rewrite <- (Z2Nat.id s) by auto. rewrite <- INR_IZR_INZ. apply up_many; auto.
  - rewrite Z.abs_neq by lia. rewrite <- (Z2Nat.id (- s)) by lia. rewrite <- INR_IZR_INZ.
    assert (turned : forall g, E (laplace_noise b) (fun z => g (- z)%Z) = E (laplace_noise b) g)
      by (intros g; apply (mirrored alpha)).
    rewrite <- (turned f), <- (turned (fun z => f (z + s)%Z)).
    apply Rle_trans with (E (laplace_noise b) (fun z => f (- (z + Z.of_nat (Z.to_nat (- s))))%Z)).
    + right. apply E_same; auto with laws. intros z. f_equal. lia.
    + apply (up_many _ (fun z => f (- z)%Z)); auto with laws.
Qed.

(** ** The Laplace mechanism on whole steps of a grid *)

Definition laplace (b : posreal) (x : Z) : law Z := bind (laplace_noise b) (fun z => ret (x + z)%Z).

Lemma laplace_factor : forall (b : posreal) x y, Factor (exp (IZR (Z.abs (x - y)) / b)) (laplace b x) (laplace b y).
Proof.
  intros b x y f bf pos. simpl.
  pose proof (laplace_noise_shifts b (x - y)%Z (fun z => f (y + z)%Z)) as moved.
  eapply Rle_trans; [|apply moved; auto with laws].
  right. apply (E_same (laplace_noise b)); auto with laws. intros z. f_equal. lia.
Qed.

(** Two values that are d steps apart give (d / b)-differential privacy. *)
(* mechanism: Laplace *)
Theorem laplace_mechanism : forall (b : posreal) x y,
  DP_inequality (laplace b x) (laplace b y) (IZR (Z.abs (x - y)) / b) 0.
Proof. intros. apply factor_is_pure_privacy, laplace_factor. Qed.

(** A vector: independent noise for each element, and the L1 distance. *)
Fixpoint laplace_list (b : posreal) (xs : list Z) : law (list Z) :=
  match xs with
  | [] => ret []
  | x :: xs' => bind (laplace b x) (fun z => bind (laplace_list b xs') (fun zs => ret (z :: zs)))
  end.

Fixpoint l1_distance (xs ys : list Z) : Z :=
  match xs, ys with x :: xs', y :: ys' => (Z.abs (x - y) + l1_distance xs' ys')%Z | _, _ => 0%Z end.

Lemma factor_more : forall (A : Type) (M N : law A) c d, c <= d -> Factor c M N -> Factor d M N.
Proof.
  intros A M N c d less near f bf pos. specialize (near f bf pos). pose proof (E_not_negative N f bf pos).
  pose proof (Rmult_le_compat_r (E N f) c d H less). lra.
Qed.

(* mechanism: Laplace *)
Theorem laplace_mechanism_of_a_vector : forall (b : posreal) xs ys, length xs = length ys ->
  DP_inequality (laplace_list b xs) (laplace_list b ys) (IZR (l1_distance xs ys) / b) 0.
Proof.
  intros b xs ys same. apply factor_is_pure_privacy. revert ys same.
  induction xs as [|x xs IH]; intros [|y ys] same; try discriminate; simpl.
  - apply (factor_more _ _ _ 1); [|apply factor_same]. replace (0 / b) with 0 by (unfold Rdiv; ring). rewrite exp_0. lra.
  - rewrite plus_IZR. replace ((IZR (Z.abs (x - y)) + IZR (l1_distance xs ys)) / b)
      with (IZR (Z.abs (x - y)) / b + IZR (l1_distance xs ys) / b) by (unfold Rdiv; ring).
    rewrite exp_plus. apply factor_bind; [left; apply exp_pos | apply laplace_factor|]. intros z.
    rewrite <- (Rmult_1_r (exp (IZR (l1_distance xs ys) / b))). apply factor_bind; [lra | auto |].
    intros zs. apply factor_same.
Qed.
