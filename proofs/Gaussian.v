(** Discrete Gaussian noise is ρ-zCDP (src/privjail/mechanisms/gaussian.py): Pr[X = x] is proportional to
    exp (- s·(x - μ)²), with s = 1/(2σ²), for all integers x.

    Completing the square leaves one question: is Θ(t) = Σ exp (- s·(x - t)²) largest where t is an integer? Usually this
    is read off Poisson's summation formula. Here it follows from Θ(t)⁴ ≤ Θ(0)³·Θ(2t), which needs no analysis: turning the
    plane by 45° writes products of two such sums as products of two others, and Cauchy's inequality does the rest.

    An infinite sum is the least upper bound of all finite ones, each over integers that are different. *)

From Coq Require Import Reals Lra Lia List ZArith.
From PrivJail Require Import Blocks.
Import ListNotations.
Open Scope R_scope.

(** ** Finite sums *)

Section Sums.
Context {A : Type}.
Implicit Types (f g : A -> R) (l m : list A).

Definition sum f l : R := fold_right (fun a s => f a + s) 0 l.

Lemma sum_app : forall f l m, sum f (l ++ m) = sum f l + sum f m.
Proof. intros f l m. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_le : forall f g l, (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
Proof.
  intros f g l. induction l as [|a l IH]; intros less; simpl; [lra|].
  pose proof (less a (or_introl eq_refl)). specialize (IH (fun b there => less b (or_intror there))). lra.
Qed.

Lemma sum_same : forall f g l, (forall a, In a l -> f a = g a) -> sum f l = sum g l.
Proof. intros f g l same. apply Rle_antisym; apply sum_le; intros a there; rewrite (same a there); lra. Qed.

Lemma sum_scale : forall c f l, sum (fun a => c * f a) l = c * sum f l.
Proof. intros c f l. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_plus : forall f g l, sum (fun a => f a + g a) l = sum f l + sum g l.
Proof. intros f g l. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_not_negative : forall f l, (forall a, 0 <= f a) -> 0 <= sum f l.
Proof. intros f l pos. induction l as [|a l IH]; simpl; [lra|]. specialize (pos a). lra. Qed.

Lemma sum_part : forall f l m, (forall a, 0 <= f a) -> NoDup l -> incl l m -> sum f l <= sum f m.
Proof.
  intros f l m pos. revert m. induction l as [|a l IH]; intros m once part; simpl.
  - apply sum_not_negative; auto.
  - inversion once as [|b k new rest]; subst.
    destruct (in_split a m (part a (or_introl eq_refl))) as [left [right ->]].
    assert (sum f l <= sum f (left ++ right)) as less.
    { apply IH; auto. intros c there. pose proof (part c (or_intror there)) as in_m.
      apply in_app_iff in in_m as [first|[<-|second]]; try (apply in_app_iff; auto; fail). contradiction. }
    rewrite sum_app in *. simpl. lra.
Qed.

Lemma sum_split : forall (even : A -> bool) f l,
  sum f l = sum f (filter even l) + sum f (filter (fun a => negb (even a)) l).
Proof.
  intros even f l. induction l as [|a l IH]; simpl; [lra|]. destruct (even a); simpl; rewrite IH; lra.
Qed.
End Sums.

Lemma sum_map : forall (A B : Type) (k : A -> B) f l, sum f (map k l) = sum (fun a => f (k a)) l.
Proof. intros A B k f l. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_pairs : forall (A B : Type) (f : A -> R) (g : B -> R) l m,
  sum (fun p => f (fst p) * g (snd p)) (list_prod l m) = sum f l * sum g m.
Proof.
  intros A B f g l m. induction l as [|a l IH]; simpl; [lra|].
  rewrite sum_app, IH, sum_map. simpl. rewrite (sum_scale (f a) g). lra.
Qed.

Lemma once_mapped : forall (A B : Type) (k : A -> B) l,
  (forall a b, In a l -> In b l -> k a = k b -> a = b) -> NoDup l -> NoDup (map k l).
Proof.
  intros A B k l. induction l as [|a l IH]; intros apart once; simpl; constructor; inversion once; subst.
  - intros there. apply in_map_iff in there as [b [same in_l]].
    assert (b = a) by (apply apart; simpl; auto). subst. contradiction.
  - apply IH; auto. intros; apply apart; simpl; auto.
Qed.

Lemma once_paired : forall (A B : Type) (l : list A) (m : list B), NoDup l -> NoDup m -> NoDup (list_prod l m).
Proof.
  intros A B l m. induction l as [|a l IH]; intros once_l once_m; simpl; [constructor|]. inversion once_l; subst.
  assert (forall (u v : list (A * B)), NoDup u -> NoDup v -> (forall p, In p u -> In p v -> False) -> NoDup (u ++ v))
    as joined.
  { intros u v nu nv none. induction u as [|p u IHu]; simpl; auto. inversion nu; subst. constructor.
    - intros there. apply in_app_iff in there as [there|there]; auto. apply (none p); simpl; auto.
    - apply IHu; auto. intros q in_u in_v. apply (none q); simpl; auto. }
  apply joined; auto.
  - apply once_mapped; auto. intros b c _ _ same. congruence.
  - intros [b c] in_one in_rest. apply in_map_iff in in_one as [d [same _]]. inversion same; subst.
    apply in_prod_iff in in_rest as [there _]. contradiction.
Qed.

Lemma once_joined : forall (A : Type) (u v : list A), NoDup u -> NoDup v -> (forall p, In p u -> In p v -> False) ->
  NoDup (u ++ v).
Proof.
  intros A u v nu nv none. induction u as [|p u IHu]; simpl; auto. inversion nu; subst. constructor.
  - intros there. apply in_app_iff in there as [there|there]; auto. apply (none p); simpl; auto.
  - apply IHu; auto. intros q in_u in_v. apply (none q); simpl; auto.
Qed.

(** ** Infinite sums *)

Definition Total {A : Type} (f : A -> R) (m : R) : Prop := is_lub (fun r => exists l, NoDup l /\ r = sum f l) m.

Section Totals.
Context {A : Type} (f : A -> R) (m : R) (total : Total f m).

Lemma total_above : forall l, NoDup l -> sum f l <= m.
Proof. intros l once. apply (proj1 total). exists l. auto. Qed.

Lemma total_least : forall c, (forall l, NoDup l -> sum f l <= c) -> m <= c.
Proof. intros c above. apply (proj2 total). intros r [l [once ->]]. auto. Qed.

Lemma total_not_negative : 0 <= m.
Proof. apply (total_above []). constructor. Qed.
End Totals.

Lemma totals_least : forall (A B : Type) (f : A -> R) (g : B -> R) F G c, Total f F -> Total g G ->
  (forall a, 0 <= f a) -> (forall b, 0 <= g b) ->
  (forall l m, NoDup l -> NoDup m -> sum f l * sum g m <= c) -> F * G <= c.
Proof.
  intros A B f g F G c tf tg pf pg less.
  pose proof (total_not_negative f F tf) as F0. pose proof (total_not_negative g G tg) as G0.
  assert (0 <= c) as c0.
  { specialize (less [] [] (NoDup_nil _) (NoDup_nil _)). simpl in less. lra. }
  assert (each : forall m, NoDup m -> F * sum g m <= c).
  { intros m once. pose proof (sum_not_negative g m pg) as [pos|<-]; [|lra].
    assert (F <= c / sum g m) as bound.
    { apply (total_least f F tf). intros l once_l. apply (Rmult_le_reg_r (sum g m)); auto.
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. specialize (less l m once_l once). lra. }
    apply (Rmult_le_compat_r (sum g m)) in bound; [|lra].
    unfold Rdiv in bound. rewrite Rmult_assoc, Rinv_l in bound by lra. lra. }
  destruct F0 as [pos|<-]; [|lra].
  assert (G <= c / F) as bound.
  { apply (total_least g G tg). intros m once. apply (Rmult_le_reg_r F); auto.
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. specialize (each m once). lra. }
  apply (Rmult_le_compat_r F) in bound; [|lra]. unfold Rdiv in bound. rewrite Rmult_assoc, Rinv_l in bound by lra. lra.
Qed.

Lemma pairs_below : forall (f g : Z -> R) F G, Total f F -> Total g G -> (forall a, 0 <= f a) -> (forall b, 0 <= g b) ->
  forall l, NoDup l -> sum (fun p => f (fst p) * g (snd p)) l <= F * G.
Proof.
  intros f g F G tf tg pf pg l once.
  apply Rle_trans with (sum (fun p => f (fst p) * g (snd p))
    (list_prod (nodup Z.eq_dec (map fst l)) (nodup Z.eq_dec (map snd l)))).
  - apply sum_part; auto.
    + intros p. apply Rmult_le_pos; auto.
    + intros [x y] there. apply in_prod_iff. split; apply nodup_In; apply in_map_iff; exists (x, y); auto.
  - rewrite (sum_pairs Z Z f g). apply Rmult_le_compat; try apply sum_not_negative; auto;
      [apply (total_above f F tf) | apply (total_above g G tg)]; apply NoDup_nodup.
Qed.

(** ** The weights *)

Definition bell (s t : R) (x : Z) : R := exp (- s * (IZR x - t) ^ 2).

Lemma bell_positive : forall s t x, 0 < bell s t x.
Proof. intros. apply exp_pos. Qed.

Lemma bell_not_negative : forall s t x, 0 <= bell s t x.
Proof. intros. left. apply exp_pos. Qed.
#[local] Hint Resolve bell_not_negative : core.

Lemma exp_grows : forall x y, x <= y -> exp x <= exp y.
Proof. intros x y [less|<-]; [left; apply exp_increasing; auto | lra]. Qed.

Lemma powers_bounded : forall q n, 0 < q < 1 -> sum (fun k => q ^ k) (seq 0 n) <= / (1 - q).
Proof.
  intros q n between. assert (sum (fun k => q ^ k) (seq 0 n) * (1 - q) = 1 - q ^ n) as closed.
  { induction n as [|n IH]; [simpl; ring|]. rewrite seq_S, sum_app, Rmult_plus_distr_r, IH. simpl. ring. }
  apply (Rmult_le_reg_r (1 - q)); [lra|]. rewrite closed, Rinv_l by lra. pose proof (pow_lt q n ltac:(lra)). lra.
Qed.

Definition around (n : nat) : list Z := map Z.of_nat (seq 0 n) ++ map (fun k => (- Z.of_nat k)%Z) (seq 0 n).

Lemma within_around : forall l : list Z, exists n, incl l (around n).
Proof.
  intros l. assert (exists n, forall x, In x l -> (Z.abs_nat x < n)%nat) as [n far].
  { induction l as [|x l [n IH]].
    - exists 0%nat. intros x [].
    - exists (S (Z.abs_nat x) + n)%nat. intros y [<-|there]; [lia|]. specialize (IH y there). lia. }
  exists n. intros x there. specialize (far x there). unfold around. apply in_app_iff.
  destruct (Z_le_gt_dec 0 x); [left|right]; apply in_map_iff; exists (Z.abs_nat x); split; try (apply in_seq; lia); lia.
Qed.

Lemma bells_bounded : forall s t, 0 < s -> exists c, forall l, NoDup l -> sum (bell s t) l <= c.
Proof.
  intros s t pos. set (q := exp (- s)).
  assert (0 < q < 1) as between.
  { split; [apply exp_pos|]. unfold q. rewrite <- exp_0. apply exp_increasing. lra. }
  set (k := exp (s * (Rabs t + 1))). exists (k * (2 * / (1 - q))). intros l once.
  assert (forall n, q ^ n = exp (- s * INR n)) as powers.
  { intros n. unfold q. induction n as [|n IH]; [simpl; rewrite Rmult_0_r, exp_0; auto|].
    rewrite S_INR. simpl pow. rewrite IH, <- exp_plus. f_equal. ring. }
  assert (forall x, bell s t x <= k * q ^ Z.abs_nat x) as each.
  { intros x. rewrite powers. unfold k, bell. rewrite <- exp_plus. apply exp_grows.
    assert (INR (Z.abs_nat x) = Rabs (IZR x)) as size.
    { rewrite INR_IZR_INZ, Zabs2Nat.id_abs, abs_IZR. auto. }
    rewrite size. set (y := IZR x - t). assert (Rabs (IZR x) - Rabs t <= Rabs y) as far.
    { unfold y. apply Rabs_triang_inv. }
    assert (Rabs y * Rabs y = y * y) as square by (rewrite <- Rabs_mult; apply Rabs_right; nra).
    assert (Rabs y - 1 <= y ^ 2) as near by (simpl; rewrite Rmult_1_r, <- square; nra).
    assert (Rabs (IZR x) - Rabs t - 1 <= y ^ 2) as below by lra. nra. }
  destruct (within_around l) as [n part].
  apply Rle_trans with (sum (fun x => k * q ^ Z.abs_nat x) (around n)).
  - apply Rle_trans with (sum (fun x => k * q ^ Z.abs_nat x) l); [apply sum_le; auto|].
    apply sum_part; auto. intros x. apply Rmult_le_pos; [left; apply exp_pos | apply pow_le; lra].
  - rewrite (sum_scale k (fun x => q ^ Z.abs_nat x)). apply Rmult_le_compat_l; [left; apply exp_pos|].
    unfold around. rewrite sum_app, !sum_map. pose proof (powers_bounded q n between) as most.
    rewrite (sum_same (fun a => q ^ Z.abs_nat (Z.of_nat a)) (fun a => q ^ a)),
      (sum_same (fun a => q ^ Z.abs_nat (- Z.of_nat a)) (fun a => q ^ a)) by (intros; f_equal; lia). lra.
Qed.

Lemma total_of_bells : forall s t, 0 < s -> exists m, Total (bell s t) m.
Proof.
  intros s t pos. destruct (bells_bounded s t pos) as [c most].
  destruct (completeness (fun r => exists l, NoDup l /\ r = sum (bell s t) l)) as [m lub].
  - exists c. intros r [l [once ->]]. auto.
  - exists 0, []. split; [constructor | reflexivity].
  - exists m. exact lub.
Qed.

(** ** The sum is largest at an integer *)

Section Theta.
Variables (s : R) (theta double : R -> R).
Hypothesis positive : 0 < s.
Hypothesis theta_total : forall t, Total (bell s t) (theta t).
Hypothesis double_total : forall t, Total (bell (2 * s) t) (double t).

Lemma theta_positive : forall t, 0 < theta t.
Proof.
  intros t. pose proof (total_above _ _ (theta_total t) [0%Z]) as above. simpl in above.
  pose proof (bell_positive s t 0). assert (NoDup [0%Z]) by (repeat constructor; auto). specialize (above H0). lra.
Qed.

Lemma shifted_below : forall k t, theta (t + IZR k) <= theta t.
Proof.
  intros k t. apply (total_least _ _ (theta_total (t + IZR k))). intros l once.
  rewrite (sum_same _ (fun x => bell s t (x - k))).
  - rewrite <- (sum_map Z Z (fun x => (x - k)%Z) (bell s t)). apply (total_above _ _ (theta_total t)).
    apply once_mapped; auto. intros; lia.
  - intros x _. unfold bell. rewrite minus_IZR. f_equal. ring.
Qed.

Lemma theta_periodic : forall k t, theta (t + IZR k) = theta t.
Proof.
  intros k t. apply Rle_antisym; [apply shifted_below|].
  pose proof (shifted_below (- k) (t + IZR k)) as back. rewrite opp_IZR in back.
  replace (t + IZR k + - IZR k) with t in back by ring. exact back.
Qed.

Lemma mirrored_below : forall t, theta (- t) <= theta t.
Proof.
  intros t. apply (total_least _ _ (theta_total (- t))). intros l once.
  rewrite (sum_same _ (fun x => bell s t (- x))).
  - rewrite <- (sum_map Z Z Z.opp (bell s t)). apply (total_above _ _ (theta_total t)).
    apply once_mapped; auto. intros; lia.
  - intros x _. unfold bell. rewrite opp_IZR. f_equal. ring.
Qed.

Lemma theta_mirrored : forall t, theta (- t) = theta t.
Proof.
  intros t. apply Rle_antisym; [apply mirrored_below|].
  pose proof (mirrored_below (- t)) as back. rewrite Ropp_involutive in back. exact back.
Qed.

(** Sums and differences of two integers are both even or both odd. *)
Definition both_even (p : Z * Z) : bool := Z.even (fst p + snd p).
Definition halves (p : Z * Z) : Z * Z := (((fst p + snd p) / 2)%Z, ((fst p - snd p) / 2)%Z).

Lemma halves_even : forall p, both_even p = true ->
  fst p = (fst (halves p) + snd (halves p))%Z /\ snd p = (fst (halves p) - snd (halves p))%Z.
Proof.
  intros [x y]. unfold both_even, halves. simpl. intros even. apply Z.even_spec in even as [a same].
  assert (x - y = 2 * (a - y))%Z as other by lia. rewrite same, other.
  rewrite !(Z.mul_comm 2), !Z.div_mul by lia. lia.
Qed.

Lemma halves_odd : forall p, both_even p = false ->
  fst p = (fst (halves p) + snd (halves p) + 1)%Z /\ snd p = (fst (halves p) - snd (halves p))%Z.
Proof.
  intros [x y]. unfold both_even, halves. simpl. intros odd.
  assert (Z.odd (x + y) = true) as is_odd by (rewrite <- Z.negb_even, odd; auto).
  apply Z.odd_spec in is_odd as [a same]. assert (x - y = 1 + (a - y) * 2)%Z as other by lia.
  assert (x + y = 1 + a * 2)%Z as first by lia. rewrite first, other.
  rewrite !Z.div_add by lia. change (1 / 2)%Z with 0%Z. lia.
Qed.

Definition turned (t : R) (p : Z * Z) : R := bell s t (fst p) * bell s (- t) (snd p).

Lemma turned_even : forall t p, both_even p = true ->
  turned t p = bell (2 * s) 0 (fst (halves p)) * bell (2 * s) t (snd (halves p)).
Proof.
  intros t p even. destruct (halves_even p even) as [first second]. unfold turned, bell. rewrite <- !exp_plus.
  rewrite first, second at 1. rewrite plus_IZR, minus_IZR. f_equal. ring.
Qed.

Lemma turned_odd : forall t p, both_even p = false ->
  turned t p = bell (2 * s) (- (1 / 2)) (fst (halves p)) * bell (2 * s) (t - 1 / 2) (snd (halves p)).
Proof.
  intros t p odd. destruct (halves_odd p odd) as [first second]. unfold turned, bell. rewrite <- !exp_plus.
  rewrite first, second at 1. rewrite !plus_IZR, minus_IZR. f_equal. field.
Qed.

Lemma product_below : forall t,
  theta t * theta (- t) <= double 0 * double t + double (- (1 / 2)) * double (t - 1 / 2).
Proof.
  intros t. apply (totals_least Z Z (bell s t) (bell s (- t))); auto. intros l m once_l once_m.
  rewrite <- (sum_pairs Z Z (bell s t) (bell s (- t))). fold (turned t).
  pose proof (once_paired Z Z l m once_l once_m) as once. set (pairs := list_prod l m) in *.
  rewrite (sum_split both_even). apply Rplus_le_compat.
  - rewrite (sum_same _ (fun p => (fun h => bell (2 * s) 0 (fst h) * bell (2 * s) t (snd h)) (halves p))).
    + rewrite <- (sum_map _ _ halves (fun h => bell (2 * s) 0 (fst h) * bell (2 * s) t (snd h))).
      apply pairs_below; auto. apply once_mapped; [|apply NoDup_filter; auto].
      intros a b in_a in_b same. apply filter_In in in_a as [_ ea]. apply filter_In in in_b as [_ eb].
      destruct (halves_even a ea) as [a1 a2], (halves_even b eb) as [b1 b2]. rewrite same in a1, a2.
      rewrite (surjective_pairing a), (surjective_pairing b). congruence.
    + intros p there. apply filter_In in there as [_ even]. apply turned_even; auto.
  - rewrite (sum_same _ (fun p => (fun h => bell (2 * s) (- (1 / 2)) (fst h) * bell (2 * s) (t - 1 / 2) (snd h))
      (halves p))).
    + rewrite <- (sum_map _ _ halves
        (fun h => bell (2 * s) (- (1 / 2)) (fst h) * bell (2 * s) (t - 1 / 2) (snd h))).
      apply pairs_below; auto. apply once_mapped; [|apply NoDup_filter; auto].
      intros a b in_a in_b same. apply filter_In in in_a as [_ ea]. apply filter_In in in_b as [_ eb].
      apply Bool.negb_true_iff in ea. apply Bool.negb_true_iff in eb.
      destruct (halves_odd a ea) as [a1 a2], (halves_odd b eb) as [b1 b2]. rewrite same in a1, a2.
      rewrite (surjective_pairing a), (surjective_pairing b). congruence.
    + intros p there. apply filter_In in there as [_ odd]. apply Bool.negb_true_iff in odd. apply turned_odd; auto.
Qed.

Lemma squares_below : forall t, double t * double t + double (t - 1 / 2) * double (t - 1 / 2) <= theta (2 * t) * theta 0.
Proof.
  intros t.
  set (even_back := fun p : Z * Z => ((fst p + snd p)%Z, (fst p - snd p)%Z)).
  set (odd_back := fun p : Z * Z => ((fst p + snd p + 1)%Z, (fst p - snd p)%Z)).
  set (both := fun p : Z * Z => bell s (2 * t) (fst p) * bell s 0 (snd p)).
  assert (joint : forall l m l' m', NoDup l -> NoDup m -> NoDup l' -> NoDup m' ->
    sum (bell (2 * s) t) l * sum (bell (2 * s) t) m
    + sum (bell (2 * s) (t - 1 / 2)) l' * sum (bell (2 * s) (t - 1 / 2)) m' <= theta (2 * t) * theta 0).
  { intros l m l' m' n1 n2 n3 n4.
    rewrite <- (sum_pairs Z Z (bell (2 * s) t)), <- (sum_pairs Z Z (bell (2 * s) (t - 1 / 2))).
    rewrite (sum_same _ (fun p => both (even_back p)) (list_prod l m)).
    2: { intros [p q] _. unfold both, even_back, bell. simpl fst. simpl snd. rewrite <- !exp_plus.
         rewrite plus_IZR, minus_IZR. f_equal. ring. }
    rewrite (sum_same _ (fun p => both (odd_back p)) (list_prod l' m')).
    2: { intros [p q] _. unfold both, odd_back, bell. simpl fst. simpl snd. rewrite <- !exp_plus.
         rewrite !plus_IZR, minus_IZR. f_equal. field. }
    rewrite <- (sum_map _ _ even_back), <- (sum_map _ _ odd_back), <- sum_app. unfold both.
    apply pairs_below; auto. apply once_joined.
    - apply once_mapped; [|apply once_paired; auto].
      intros [a b] [c d] _ _ same. unfold even_back in same. simpl in same. inversion same. f_equal; lia.
    - apply once_mapped; [|apply once_paired; auto].
      intros [a b] [c d] _ _ same. unfold odd_back in same. simpl in same. inversion same. f_equal; lia.
    - intros p one other. apply in_map_iff in one as [[a b] [one _]]. apply in_map_iff in other as [[c d] [other _]].
      unfold even_back in one. unfold odd_back in other. simpl in *. subst p. inversion other. lia. }
  assert (outer : forall l' m', NoDup l' -> NoDup m' ->
    sum (bell (2 * s) (t - 1 / 2)) l' * sum (bell (2 * s) (t - 1 / 2)) m' <= theta (2 * t) * theta 0 - double t * double t).
  { intros l' m' n3 n4.
    assert (double t * double t
      <= theta (2 * t) * theta 0 - sum (bell (2 * s) (t - 1 / 2)) l' * sum (bell (2 * s) (t - 1 / 2)) m'); [|lra].
    apply (totals_least Z Z (bell (2 * s) t) (bell (2 * s) t)); auto.
    intros l m n1 n2. specialize (joint l m l' m' n1 n2 n3 n4). lra. }
  pose proof (totals_least Z Z (bell (2 * s) (t - 1 / 2)) (bell (2 * s) (t - 1 / 2)) _ _ _
    (double_total _) (double_total _) (bell_not_negative _ _) (bell_not_negative _ _) outer). lra.
Qed.

Lemma cauchy : forall a b c d, (a * c + b * d) * (a * c + b * d) <= (a * a + b * b) * (c * c + d * d).
Proof. intros. pose proof (Rle_0_sqr (a * d - b * c)) as square. unfold Rsqr in square. nra. Qed.

(** The key. *)
Theorem theta_doubled : forall t, theta t ^ 4 <= theta 0 ^ 3 * theta (2 * t).
Proof.
  intros t. pose proof (product_below t) as product. rewrite theta_mirrored in product.
  pose proof (squares_below t) as later. pose proof (squares_below 0) as here.
  replace (2 * 0) with 0 in here by ring. replace (0 - 1 / 2) with (- (1 / 2)) in here by ring.
  pose proof (cauchy (double 0) (double (- (1 / 2))) (double t) (double (t - 1 / 2))) as mixed.
  pose proof (theta_positive t). pose proof (theta_positive 0). pose proof (theta_positive (2 * t)).
  set (u := double 0 * double t + double (- (1 / 2)) * double (t - 1 / 2)) in *.
  set (v := double 0 * double 0 + double (- (1 / 2)) * double (- (1 / 2))) in *.
  set (w := double t * double t + double (t - 1 / 2) * double (t - 1 / 2)) in *.
  assert (0 <= v) by (unfold v; nra). assert (0 <= w) by (unfold w; nra).
  assert (theta t * theta t * (theta t * theta t) <= u * u) by (apply Rmult_le_compat; nra).
  assert (v * w <= theta 0 * theta 0 * (theta (2 * t) * theta 0)) by (apply Rmult_le_compat; lra). simpl. nra.
Qed.

Lemma theta_at_most_twice : forall t, theta t <= 2 * theta 0.
Proof.
  assert (unit : forall t, 0 <= t <= 1 -> theta t <= 2 * theta 0).
  { intros t between. apply (total_least _ _ (theta_total t)). intros l once.
    apply Rle_trans with (sum (fun x => bell s 0 x + bell s 0 (x - 1)) l).
    - apply sum_le. intros x _. destruct (Z_le_gt_dec x 0) as [left|right].
      + apply IZR_le in left. pose proof (bell_positive s 0 (x - 1)). assert (bell s t x <= bell s 0 x); [|lra].
        apply exp_grows. assert ((IZR x - 0) ^ 2 <= (IZR x - t) ^ 2) by nra. nra.
      + assert (1 <= x)%Z as one by lia. apply IZR_le in one. pose proof (bell_positive s 0 x).
        assert (bell s t x <= bell s 0 (x - 1)); [|lra]. apply exp_grows. rewrite minus_IZR.
        assert ((IZR x - 1 - 0) ^ 2 <= (IZR x - t) ^ 2) by nra. nra.
    - rewrite sum_plus, <- (sum_map Z Z (fun x => (x - 1)%Z) (bell s 0)).
      pose proof (total_above _ _ (theta_total 0) l once).
      assert (NoDup (map (fun x => (x - 1)%Z) l)) as moved by (apply once_mapped; auto; intros; lia).
      pose proof (total_above _ _ (theta_total 0) _ moved). lra. }
  intros t. destruct (archimed t) as [above below]. rewrite <- (theta_periodic (1 - up t) t). apply unit.
  rewrite minus_IZR. lra.
Qed.

(** Σ exp (- s·(x - t)²) is largest where t is an integer. *)
Theorem theta_is_largest_at_integers : forall t, theta t <= theta 0.
Proof.
  intros t. destruct (Rle_lt_dec (theta t) (theta 0)) as [fine|more]; auto. exfalso.
  pose proof (theta_positive 0) as pos. set (z := theta 0) in *. set (d := theta t - z). assert (0 < d) by (unfold d; lra).
  assert (climbs : forall n, exists u, z + INR (S n) * d <= theta u).
  { induction n as [|n [u high]].
    - exists t. unfold d. simpl. lra.
    - exists (2 * u). pose proof (theta_doubled u) as key. fold z in key. rewrite (S_INR (S n)).
      pose proof (pos_INR n). rewrite S_INR in *. set (e := (INR n + 1) * d) in *.
      assert (d <= e) by (unfold e; nra). set (y := theta u) in *.
      assert (z * z * (z * (z + 2 * e)) <= y ^ 4) as power.
      { assert (z * (z + 2 * e) <= y * y) by nra. assert (z * z <= y * y) by nra.
        replace (y ^ 4) with (y * y * (y * y)) by ring. apply Rmult_le_compat; nra. }
      assert (z * z * z * (z + 2 * e) <= z * z * z * theta (2 * u)) as cubes by (simpl in key; nra).
      apply Rmult_le_reg_l in cubes; [|repeat apply Rmult_lt_0_compat; auto].
      replace ((INR n + 1 + 1) * d) with (e + d) by (unfold e; ring). lra. }
  assert (exists n, z / d < INR n) as [n large].
  { destruct (archimed (z / d)) as [above _]. exists (Z.to_nat (up (z / d))).
    assert (0 < z / d) by (apply Rdiv_lt_0_compat; auto). assert (0 <= up (z / d))%Z by (apply le_IZR; lra).
    rewrite INR_IZR_INZ, Z2Nat.id by auto. lra. }
  destruct (climbs n) as [u high].
  pose proof (theta_at_most_twice u) as low. fold z in low. rewrite S_INR in high.
  assert (z < INR n * d).
  { apply (Rmult_lt_compat_r d) in large; auto. unfold Rdiv in large. rewrite Rmult_assoc, Rinv_l in large by lra. lra. }
  lra.
Qed.

(** ** The mechanism *)

(** The chance of each integer, around an integer. *)
Definition chance (mu x : Z) : R := bell s (IZR mu) x / theta 0.

Lemma chance_positive : forall mu x, 0 < chance mu x.
Proof. intros. apply Rdiv_lt_0_compat; [apply bell_positive | apply theta_positive]. Qed.

(** They add up to 1. *)
Theorem chances_add_up : forall mu, Total (chance mu) 1.
Proof.
  intros mu. pose proof (theta_positive 0) as pos. pose proof (theta_periodic mu 0) as same. rewrite Rplus_0_l in same.
  assert (scaled : forall l, sum (chance mu) l = sum (bell s (IZR mu)) l / theta 0).
  { intros l. unfold Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_same. intros x _. unfold chance. lra. }
  split.
  - intros r [l [once ->]]. rewrite scaled. apply (Rmult_le_reg_r (theta 0)); auto. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l by lra. pose proof (total_above _ _ (theta_total (IZR mu)) l once). lra.
  - intros c most. assert (theta (IZR mu) <= c * theta 0) as all.
    { apply (total_least _ _ (theta_total (IZR mu))). intros l once.
      assert (sum (chance mu) l <= c) as less by (apply most; exists l; auto). rewrite scaled in less.
      apply (Rmult_le_compat_r (theta 0)) in less; [|lra]. unfold Rdiv in less.
      rewrite Rmult_assoc, Rinv_l in less by lra. lra. }
    rewrite same in all. apply (Rmult_le_reg_r (theta 0)); lra.
Qed.

Lemma power_of_chances : forall a mu nu x, power a (chance mu x) (chance nu x) =
  exp (a * (a - 1) * (s * (IZR mu - IZR nu) ^ 2)) / theta 0 * bell s (a * IZR mu + (1 - a) * IZR nu) x.
Proof.
  intros a mu nu x. pose proof (theta_positive 0) as pos. unfold power, Rpower, chance, Rdiv.
  pose proof (Rinv_0_lt_compat _ pos).
  rewrite !ln_mult by (auto; apply bell_positive). unfold bell. rewrite !ln_exp.
  rewrite <- (exp_ln (/ theta 0)) at 3 by auto. rewrite <- !exp_plus. f_equal. ring.
Qed.

(** Noise of variance parameter σ², s = 1/(2σ²), on integers that are |μ - ν| apart, is ρ-zCDP with ρ = (μ - ν)²/(2σ²):
    at every order the divergence is at most a·ρ, over any set of answers. *)
(* mechanism: Gaussian *)
Theorem discrete_gaussian_is_zCDP : forall a mu nu answers, 1 < a -> NoDup answers ->
  sum (fun x => power a (chance mu x) (chance nu x)) answers <= exp (a * (a - 1) * (s * (IZR mu - IZR nu) ^ 2)).
Proof.
  intros a mu nu answers order once. pose proof (theta_positive 0) as pos.
  rewrite (sum_same _ _ answers (fun x _ => power_of_chances a mu nu x)), sum_scale.
  set (t := a * IZR mu + (1 - a) * IZR nu). set (most := exp _).
  pose proof (total_above _ _ (theta_total t) answers once) as above.
  pose proof (theta_is_largest_at_integers t) as largest.
  assert (0 < most) by apply exp_pos. apply (Rmult_le_reg_r (theta 0)); auto.
  replace (most / theta 0 * sum (bell s t) answers * theta 0) with (most * sum (bell s t) answers) by (field; lra).
  apply Rmult_le_compat_l; lra.
Qed.

(** So it is one release of a block, which [rho_adds_up_to_the_limit] is about. *)
Corollary discrete_gaussian_in_a_block : forall a mu nu answers (next : Z -> talk), 1 < a -> NoDup answers ->
  alone a (map (fun x => (chance mu x, chance nu x, next x)) answers)
  <= exp (a * (a - 1) * (s * (IZR mu - IZR nu) ^ 2)).
Proof.
  intros a mu nu answers next order once. pose proof (discrete_gaussian_is_zCDP a mu nu answers order once) as all.
  assert (alone a (map (fun x => (chance mu x, chance nu x, next x)) answers)
    = sum (fun x => power a (chance mu x) (chance nu x)) answers) as ->; auto.
  clear. induction answers as [|x rest IH]; simpl; [reflexivity|]. rewrite IH. reflexivity.
Qed.
End Theta.

(** Such sums exist for every σ > 0, so the theorems above are about something. *)
Theorem sums_exist : forall s, 0 < s -> exists theta : R -> R, (forall t, Total (bell s t) (theta t)).
Proof.
  intros s pos.
  assert (forall t, { m | Total (bell s t) m }) as each.
  { intros t. apply completeness.
    - destruct (bells_bounded s t pos) as [c most]. exists c. intros r [l [once ->]]. auto.
    - exists 0, []. split; [constructor | reflexivity]. }
  exists (fun t => proj1_sig (each t)). intros t. apply (proj2_sig (each t)).
Qed.

(** All in one: for every σ > 0 the weights exp (- (x - μ)²/(2σ²)) of all integers have a sum, and noise of that law is
    ρ-zCDP with ρ = (μ - ν)²/(2σ²). *)
(* mechanism: Gaussian *)
Theorem gaussian_noise_is_zCDP : forall sigma, 0 < sigma -> exists all,
  Total (bell (/ (2 * sigma ^ 2)) 0) all /\
  let law mu x := bell (/ (2 * sigma ^ 2)) (IZR mu) x / all in
  (forall mu, Total (law mu) 1) /\
  forall a mu nu answers, 1 < a -> NoDup answers ->
    sum (fun x => power a (law mu x) (law nu x)) answers <= exp (a * (a - 1) * ((IZR mu - IZR nu) ^ 2 / (2 * sigma ^ 2))).
Proof.
  intros sigma positive. set (s := / (2 * sigma ^ 2)).
  assert (0 < s) as pos by (apply Rinv_0_lt_compat; nra).
  destruct (sums_exist s pos) as [theta total]. destruct (sums_exist (2 * s) ltac:(lra)) as [double twice].
  exists (theta 0). split; [apply total|]. split.
  - intros mu. apply (chances_add_up s theta total mu).
  - intros a mu nu answers order once.
    replace ((IZR mu - IZR nu) ^ 2 / (2 * sigma ^ 2)) with (s * (IZR mu - IZR nu) ^ 2) by (unfold s; field; lra).
    apply (discrete_gaussian_is_zCDP s theta double pos total twice a mu nu answers order once).
Qed.
