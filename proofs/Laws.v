(** Laws of random answers, (ε, δ)-differential privacy, post-processing and composition.

    A law is known by its expectations: [E M f] is the mean of f(answer). It is monotone, linear, and 1 for the constant
    1. The functions are bounded. Nothing else is used, so the theorems hold for discrete and for continuous laws alike.
    The probability of a set is the expectation of its indicator. *)

From Coq Require Import Reals Lra Lia List.
Import ListNotations.
Open Scope R_scope.

Definition Bounded {A : Type} (f : A -> R) : Prop := exists most, forall a, Rabs (f a) <= most.

Record law (A : Type) : Type := {
  E : (A -> R) -> R;
  E_monotone : forall f g, Bounded f -> Bounded g -> (forall a, f a <= g a) -> E f <= E g;
  E_plus : forall f g, Bounded f -> Bounded g -> E (fun a => f a + g a) = E f + E g;
  E_scale : forall c f, Bounded f -> E (fun a => c * f a) = c * E f;
  E_one : E (fun _ => 1) = 1 }.
Arguments E {A}. Arguments E_monotone {A}. Arguments E_plus {A}. Arguments E_scale {A}. Arguments E_one {A}.

Definition indicator {A : Type} (S : A -> bool) (a : A) : R := if S a then 1 else 0.

(** The measure of a set. *)
Definition measure {A : Type} (M : law A) (S : A -> bool) : R := E M (indicator S).

(** ** The definition *)

Definition DP_inequality {A : Type} (M N : law A) (eps delta : R) : Prop :=
  forall S, measure M S <= exp eps * measure N S + delta.

Definition differential_privacy {D A : Type} (M : D -> law A) (adj : D -> D -> Prop) (eps delta : R) : Prop :=
  forall d1 d2, adj d1 d2 -> DP_inequality (M d1) (M d2) eps delta /\ DP_inequality (M d2) (M d1) eps delta.

(** ** Bounded functions *)

Section Bounds.
Context {A : Type}.
Implicit Types f g : A -> R.

Lemma bounded_constant : forall c, Bounded (fun _ : A => c).
Proof. intros c. exists (Rabs c). intros; lra. Qed.

Lemma bounded_between : forall f c, (forall a, 0 <= f a <= c) -> Bounded f.
Proof. intros f c between. exists c. intros a. rewrite Rabs_right; specialize (between a); lra. Qed.

Lemma bounded_plus : forall f g, Bounded f -> Bounded g -> Bounded (fun a => f a + g a).
Proof.
  intros f g [c bf] [d bg]. exists (c + d). intros a. specialize (bf a). specialize (bg a).
  eapply Rle_trans; [apply Rabs_triang | lra].
Qed.

Lemma bounded_scale : forall c f, Bounded f -> Bounded (fun a => c * f a).
Proof.
  intros c f [d bf]. exists (Rabs c * d). intros a. rewrite Rabs_mult. apply Rmult_le_compat_l; auto. apply Rabs_pos.
Qed.

Lemma indicator_between : forall (S : A -> bool) a, 0 <= indicator S a <= 1.
Proof. intros S a. unfold indicator. destruct (S a); lra. Qed.

Lemma bounded_indicator : forall S : A -> bool, Bounded (indicator S).
Proof. intros S. apply (bounded_between _ 1), indicator_between. Qed.

Lemma bounded_after : forall (B : Type) (k : B -> A) f, Bounded f -> Bounded (fun b => f (k b)).
Proof. intros B k f [c bf]. exists c. auto. Qed.
End Bounds.
#[export] Hint Resolve bounded_constant bounded_plus bounded_scale bounded_indicator bounded_after : laws.

Section Expectations.
Context {A : Type} (M : law A).

Lemma E_constant : forall c, E M (fun _ => c) = c.
Proof.
  intros c. transitivity (E M (fun _ => c * 1)).
  - apply Rle_antisym; apply E_monotone; auto with laws; intros; lra.
  - rewrite (E_scale M c (fun _ => 1)) by auto with laws. rewrite E_one. lra.
Qed.

Lemma E_same : forall f g, Bounded f -> (forall a, f a = g a) -> E M f = E M g.
Proof.
  intros f g bf same. assert (Bounded g) by (destruct bf as [c bf]; exists c; intros a; rewrite <- same; auto).
  apply Rle_antisym; apply E_monotone; auto; intros a; rewrite same; lra.
Qed.

Lemma E_not_negative : forall f, Bounded f -> (forall a, 0 <= f a) -> 0 <= E M f.
Proof. intros f bf pos. rewrite <- (E_constant 0). apply E_monotone; auto with laws. Qed.

Lemma E_at_most : forall f c, Bounded f -> (forall a, f a <= c) -> E M f <= c.
Proof. intros f c bf less. rewrite <- (E_constant c). apply E_monotone; auto with laws. Qed.

Lemma E_at_least : forall f c, Bounded f -> (forall a, c <= f a) -> c <= E M f.
Proof. intros f c bf less. rewrite <- (E_constant c) at 1. apply E_monotone; auto with laws. Qed.

Lemma E_bounded : forall f c, (forall a, Rabs (f a) <= c) -> Rabs (E M f) <= c.
Proof.
  intros f c bound. apply Rabs_le. split; [apply E_at_least | apply E_at_most]; try (exists c; auto; fail);
  intros a; specialize (bound a); apply Rabs_le_between in bound || (revert bound; unfold Rabs; destruct Rcase_abs); lra.
Qed.
End Expectations.

(** ** One random choice after another *)

Definition ret {A : Type} (a : A) : law A.
Proof. refine {| E := fun f => f a |}; intros; auto. Defined.

Lemma bounded_E : forall (A B : Type) (K : A -> law B) (f : A -> B -> R) c, (forall a b, Rabs (f a b) <= c) ->
  Bounded (fun a => E (K a) (f a)).
Proof. intros A B K f c bound. exists c. intros a. apply E_bounded; auto. Qed.

Lemma bounded_mean : forall (A B : Type) (K : A -> law B) (f : B -> R), Bounded f -> Bounded (fun a => E (K a) f).
Proof. intros A B K f [c bound]. apply (bounded_E A B K (fun _ => f) c). auto. Qed.
#[export] Hint Resolve bounded_mean : laws.

Definition bind {A B : Type} (M : law A) (K : A -> law B) : law B.
Proof.
  refine {| E := fun f => E M (fun a => E (K a) f) |}.
  - intros f g bf bg less. apply E_monotone; auto with laws. intros a. apply E_monotone; auto.
  - intros f g bf bg. rewrite <- E_plus by auto with laws.
    apply E_same; auto with laws. intros a. apply E_plus; auto.
  - intros c f bf. rewrite <- E_scale by auto with laws. apply E_same; auto with laws. intros a. apply E_scale; auto.
  - rewrite (E_same M _ (fun _ => 1)); auto with laws; [apply E_one|]. intros a. apply E_one.
Defined.

(** ** From sets to functions with values between 0 and 1 *)

(** How many of the numbers 1, …, n are at most y. *)
Fixpoint steps (n : nat) (y : R) : R :=
  match n with O => 0 | S n' => steps n' y + (if Rle_dec (INR n) y then 1 else 0) end.

Lemma steps_all : forall n y, INR n <= y -> steps n y = INR n.
Proof.
  induction n as [|n IH]; intros y less; [reflexivity|]. cbn [steps]. rewrite S_INR in *.
  rewrite IH by lra. destruct (Rle_dec (INR n + 1) y); lra.
Qed.

Lemma steps_round_down : forall n y, 0 <= y <= INR n -> steps n y <= y <= steps n y + 1.
Proof.
  induction n as [|n IH]; intros y between; [simpl in *; lra|]. cbn [steps]. rewrite S_INR in *.
  destruct (Rle_dec (INR n + 1) y).
  - rewrite steps_all by lra. lra.
  - destruct (Rle_dec y (INR n)); [specialize (IH y); lra|]. rewrite steps_all by lra. lra.
Qed.

Definition level {A : Type} (h : A -> R) (n k : nat) (a : A) : bool :=
  if Rle_dec (INR k) (INR n * h a) then true else false.

Fixpoint sum_of_levels {A : Type} (M : law A) (h : A -> R) (n m : nat) : R :=
  match m with O => 0 | S m' => sum_of_levels M h n m' + measure M (level h n m) end.

Lemma E_steps : forall (A : Type) (M : law A) (h : A -> R) n m,
  Bounded (fun a => steps m (INR n * h a)) /\
  E M (fun a => steps m (INR n * h a)) = sum_of_levels M h n m.
Proof.
  intros A M h n. induction m as [|m [bounded same]].
  - split; [apply (bounded_constant 0) | apply (E_constant M 0)].
  - assert (eq : forall a, steps (S m) (INR n * h a) = steps m (INR n * h a) + indicator (level h n (S m)) a).
    { intros a. cbn [steps]. unfold indicator, level. destruct (Rle_dec (INR (S m)) (INR n * h a)); auto. }
    assert (bounded' : Bounded (fun a => steps m (INR n * h a) + indicator (level h n (S m)) a)) by auto with laws.
    split.
    + destruct bounded' as [c bound]. exists c. intros a. rewrite eq. auto.
    + cbn [sum_of_levels]. rewrite <- same. unfold measure. rewrite <- E_plus by auto with laws.
      symmetry. apply E_same; auto.
Qed.

Theorem sets_are_enough : forall (A : Type) (M N : law A) eps delta, DP_inequality M N eps delta ->
  forall h, (forall a, 0 <= h a <= 1) -> E M h <= exp eps * E N h + delta.
Proof.
  intros A M N eps delta private h between.
  assert (bh : Bounded h) by (apply (bounded_between _ 1); auto).
  assert (close : forall n, (0 < n)%nat -> E M h <= exp eps * E N h + delta + / INR n).
  { intros n some. assert (pos : 0 < INR n) by (apply lt_0_INR; auto).
    assert (round : forall a, steps n (INR n * h a) <= INR n * h a <= steps n (INR n * h a) + 1).
    { intros a. apply steps_round_down. specialize (between a). split; [apply Rmult_le_pos; lra|].
      rewrite <- (Rmult_1_r (INR n)) at 2. apply Rmult_le_compat_l; lra. }
    destruct (E_steps A M h n n) as [bM sM]. destruct (E_steps A N h n n) as [bN sN].
    assert (up : INR n * E M h <= E M (fun a => steps n (INR n * h a)) + 1).
    { rewrite <- E_scale by auto. rewrite <- (E_constant M 1). rewrite <- E_plus by auto with laws.
      apply E_monotone; auto with laws. intros a. apply round. }
    assert (down : E N (fun a => steps n (INR n * h a)) <= INR n * E N h).
    { rewrite <- E_scale by auto. apply E_monotone; auto with laws. intros a. apply round. }
    assert (sum : E M (fun a => steps n (INR n * h a)) <=
                  exp eps * E N (fun a => steps n (INR n * h a)) + INR n * delta).
    { rewrite sM, sN. clear - private.
      enough (all : forall m, sum_of_levels M h n m <= exp eps * sum_of_levels N h n m + INR m * delta) by apply all.
      induction m as [|m IH]; [simpl; lra|]. rewrite S_INR. cbn [sum_of_levels].
      specialize (private (level h n (S m))). lra. }
    apply Rmult_le_reg_l with (INR n); auto.
    rewrite !Rmult_plus_distr_l, Rinv_r by lra.
    assert (exp eps * E N (fun a => steps n (INR n * h a)) <= exp eps * (INR n * E N h))
      by (apply Rmult_le_compat_l; auto; left; apply exp_pos).
    replace (INR n * (exp eps * E N h)) with (exp eps * (INR n * E N h)) by ring. lra. }
  apply Rnot_lt_le. intros more.
  set (gap := E M h - (exp eps * E N h + delta)). assert (0 < gap) by (unfold gap; lra).
  destruct (archimed_cor1 gap) as (n & small & some); auto. specialize (close n some). unfold gap in small. lra.
Qed.

(** Without δ: every function that is not negative. *)
Theorem sets_are_enough_pure : forall (A : Type) (M N : law A) eps, DP_inequality M N eps 0 ->
  forall h, Bounded h -> (forall a, 0 <= h a) -> E M h <= exp eps * E N h.
Proof.
  intros A M N eps private h [c bound] pos.
  assert (bh : Bounded h) by (exists c; auto). set (d := Rabs c + 1).
  assert (0 < d) by (unfold d; pose proof (Rabs_pos c); lra).
  assert (less : E M (fun a => / d * h a) <= exp eps * E N (fun a => / d * h a) + 0).
  { apply sets_are_enough; auto. intros a. specialize (bound a). specialize (pos a).
    rewrite Rabs_right in bound by lra. pose proof (Rle_abs c).
    split; [apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto|].
    apply Rmult_le_reg_l with d; auto. rewrite <- Rmult_assoc, Rinv_r by lra. unfold d. lra. }
  rewrite !E_scale in less by auto. apply Rmult_le_reg_l with (/ d); [apply Rinv_0_lt_compat; auto|]. lra.
Qed.

Lemma dp_from_functions : forall (A : Type) (M N : law A) eps delta,
  (forall h, (forall a, 0 <= h a <= 1) -> E M h <= exp eps * E N h + delta) -> DP_inequality M N eps delta.
Proof. intros A M N eps delta all S. apply all, indicator_between. Qed.

(** ** Post-processing: whatever is computed from an answer, at random or not *)

Theorem post_processing : forall (A B : Type) (M N : law A) (K : A -> law B) eps delta,
  DP_inequality M N eps delta -> DP_inequality (bind M K) (bind N K) eps delta.
Proof.
  intros A B M N K eps delta private S. unfold measure. simpl.
  apply (sets_are_enough A M N eps delta private (fun a => E (K a) (indicator S))).
  intros a. split; [apply E_not_negative | apply E_at_most]; auto with laws; apply indicator_between.
Qed.

(** ** A larger ε and a larger δ promise less *)

Theorem promising_less : forall (A : Type) (M N : law A) eps delta eps' delta', eps <= eps' -> delta <= delta' ->
  DP_inequality M N eps delta -> DP_inequality M N eps' delta'.
Proof.
  intros A M N eps delta eps' delta' less less' private S. specialize (private S).
  assert (0 <= measure N S) by (apply E_not_negative; auto with laws; apply indicator_between).
  assert (exp eps <= exp eps') by (destruct less as [less| ->]; [left; apply exp_increasing; auto | lra]).
  pose proof (Rmult_le_compat_r (measure N S) _ _ H H0). lra.
Qed.

(** ** Sequential composition: the second mechanism may be chosen by the first answer *)

Definition both {A B : Type} (M : law A) (K : A -> law B) : law (A * B) :=
  bind M (fun a => bind (K a) (fun b => ret (a, b))).

Theorem sequential_composition : forall (A B : Type) (M N : law A) (K L : A -> law B) eps1 delta1 eps2 delta2,
  0 <= delta2 -> DP_inequality M N eps1 delta1 -> (forall a, DP_inequality (K a) (L a) eps2 delta2) ->
  DP_inequality (both M K) (both N L) (eps1 + eps2) (delta1 + delta2).
Proof.
  intros A B M N K L eps1 delta1 eps2 delta2 pos first second S. unfold measure, both. simpl.
  set (r := fun a => E (K a) (fun b => indicator S (a, b))). set (t := fun a => E (L a) (fun b => indicator S (a, b))).
  change (E M r <= exp (eps1 + eps2) * E N t + (delta1 + delta2)).
  assert (range : forall (K' : A -> law B) a, 0 <= E (K' a) (fun b => indicator S (a, b)) <= 1).
  { intros K' a. split; [apply E_not_negative | apply E_at_most]; try (intros; apply indicator_between);
    apply (bounded_between _ 1); intros; apply indicator_between. }
  assert (br : Bounded r) by (apply (bounded_between _ 1); intros a; apply (range K)).
  assert (bt : Bounded t) by (apply (bounded_between _ 1); intros a; apply (range L)).
  assert (e1 : 0 < exp eps1) by apply exp_pos. assert (e2 : 0 < exp eps2) by apply exp_pos.
  set (h := fun a => Rmin 1 (exp eps2 * t a)).
  assert (hb : forall a, 0 <= h a <= 1).
  { intros a. unfold h. split; [|apply Rmin_l]. apply Rmin_glb; [lra|]. apply Rmult_le_pos; [lra | apply (range L)]. }
  assert (bh : Bounded h) by (apply (bounded_between _ 1); auto).
  assert (step1 : E M r <= E M h + delta2).
  { rewrite <- (E_constant M delta2), <- E_plus by auto with laws. apply E_monotone; auto with laws. intros a.
    pose proof (second a (fun b => S (a, b))) as one. unfold measure in one.
    change (E (K a) (indicator (fun b => S (a, b)))) with (r a) in one.
    change (E (L a) (indicator (fun b => S (a, b)))) with (t a) in one.
    pose proof (range K a : 0 <= r a <= 1). unfold h, Rmin. destruct (Rle_dec 1 (exp eps2 * t a)); lra. }
  assert (step2 : E M h <= exp eps1 * E N h + delta1) by (apply sets_are_enough; auto).
  assert (step3 : E N h <= exp eps2 * E N t).
  { rewrite <- E_scale by auto. apply E_monotone; auto with laws. intros a. apply Rmin_r. }
  assert (exp eps1 * E N h <= exp eps1 * (exp eps2 * E N t)) by (apply Rmult_le_compat_l; lra).
  rewrite exp_plus, Rmult_assoc. lra.
Qed.

(** The same without the first answer in the result. *)
Lemma bind_composition : forall (A B : Type) (M N : law A) (K L : A -> law B) eps1 delta1 eps2 delta2, 0 <= delta2 ->
  DP_inequality M N eps1 delta1 -> (forall a, DP_inequality (K a) (L a) eps2 delta2) ->
  DP_inequality (bind M K) (bind N L) (eps1 + eps2) (delta1 + delta2).
Proof.
  intros A B M N K L eps1 delta1 eps2 delta2 pos first second S.
  exact (post_processing _ _ _ _ (fun ab => ret (snd ab)) _ _
    (sequential_composition A B M N K L eps1 delta1 eps2 delta2 pos first second) S).
Qed.

Lemma same_law : forall (A : Type) (M : law A), DP_inequality M M 0 0.
Proof. intros A M S. rewrite exp_0. lra. Qed.
