(** Permute and flip: the law of noisy max that the library draws from (src/privjail/mechanisms/noisy_max.py).

    Go through the options in random order and accept option j with probability p_j = e^((q_j - max)/b); the first accepted
    option is the answer. Adding real-valued exponential noise of scale b and taking the largest has the same law. The
    process is defined as it runs; a closed form p_i·∫ Π (1 - t·p_j) dt over [0, 1] is proved for it; the guarantee follows
    from that. The closed form is also the law of the sampler in mechanisms/choice.py, which draws a uniform time for each
    option and takes the earliest accepted one: i is accepted, at time t, and no other is accepted before. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Laws Laplace NoisyMax Choices.
Import ListNotations.
Open Scope R_scope.

(** ** The process *)

(** Each element of a list, together with the others. *)
Fixpoint each_removed (os : list R) : list (R * list R) :=
  match os with
  | [] => []
  | o :: rest => (o, rest) :: map (fun '(x, others) => (x, o :: others)) (each_removed rest)
  end.

Definition sum_list {X : Type} (f : X -> R) (l : list X) : R := fold_right (fun x s => f x + s) 0 l.

(** The chance that an option which is accepted with probability [p] is the answer, beside others that are accepted with
    probabilities [os]: each of all options comes next with equal chance; if that is the option itself, it must be
    accepted; if it is another one, that must be rejected, and the process goes on without it. *)
Fixpoint chance (n : nat) (p : R) (os : list R) : R :=
  match n with
  | O => p
  | S n' => (p + sum_list (fun '(x, others) => (1 - x) * chance n' p others) (each_removed os)) / (1 + INR (length os))
  end.

(** ** The closed form: p·∫₀¹ Π (1 - t·o) dt *)

Definition product (os : list R) (t : R) : R := fold_right (fun o s => (1 - t * o) * s) 1 os.

Fixpoint slope (os : list R) (t : R) : R :=
  match os with [] => 0 | o :: rest => - o * product rest t + (1 - t * o) * slope rest t end.

Lemma product_slope : forall os t, is_derive (product os) t (slope os t).
Proof.
  induction os as [|o os IH]; intros t; simpl.
  - apply (is_derive_const 1).
  - evar_last.
    + apply (is_derive_mult (fun t => 1 - t * o) (product os) t (- o) (slope os t)); [|apply IH | intros; apply Rmult_comm].
      auto_derive; auto. ring.
    + reflexivity.
Qed.

Lemma product_continuous : forall os t, continuous (product os) t.
Proof. intros os t. apply (ex_derive_continuous (product os)). exists (slope os t). apply product_slope. Qed.

Lemma product_integrable : forall os a b, ex_RInt (product os) a b.
Proof. intros. apply (ex_RInt_continuous (product os)). intros. apply product_continuous. Qed.

Definition removed_sum (os : list R) (t : R) : R :=
  sum_list (fun '(x, others) => (1 - x) * product others t) (each_removed os).

Lemma removed_sum_cons : forall o os t,
  removed_sum (o :: os) t = (1 - o) * product os t + (1 - t * o) * removed_sum os t.
Proof.
  intros o os t. unfold removed_sum. simpl. f_equal.
  induction (each_removed os) as [|[x others] l IH]; simpl; [ring|]. rewrite IH. ring.
Qed.

Lemma slope_identity : forall os t, (t - 1) * slope os t = INR (length os) * product os t - removed_sum os t.
Proof.
  induction os as [|o os IH]; intros t.
  - simpl. unfold removed_sum. simpl. ring.
  - rewrite removed_sum_cons. simpl slope. change (length (o :: os)) with (S (length os)). rewrite S_INR. simpl product.
    replace ((t - 1) * (- o * product os t + (1 - t * o) * slope os t))
      with (- o * (t - 1) * product os t + (1 - t * o) * ((t - 1) * slope os t)) by ring.
    rewrite IH. ring.
Qed.

Definition integral (os : list R) : R := RInt (product os) 0 1.

Lemma removed_sum_integral : forall os, is_RInt (removed_sum os) 0 1
  (sum_list (fun '(x, others) => (1 - x) * integral others) (each_removed os)).
Proof.
  intros os. unfold removed_sum. induction (each_removed os) as [|[x others] l IH]; simpl.
  - evar_last; [apply (is_RInt_const 0 1 0)|]. unfold scal; simpl; unfold mult; simpl. ring.
  - apply (is_RInt_plus (fun t => (1 - x) * product others t)
      (fun t => sum_list (fun '(x, others) => (1 - x) * product others t) l)); [|exact IH].
    apply (is_RInt_scal (product others) 0 1 (1 - x)). apply (RInt_correct (product others)), product_integrable.
Qed.

(** (m + 1)·∫Π = 1 + Σ (1 - x)·∫Π without x: the equation of the process. *)
Lemma integral_equation : forall os, (1 + INR (length os)) * integral os =
  1 + sum_list (fun '(x, others) => (1 - x) * integral others) (each_removed os).
Proof.
  intros os. set (total := sum_list (fun '(x, others) => (1 - x) * integral others) (each_removed os)).
  set (F := fun t => (t - 1) * product os t).
  set (f := fun t => (1 + INR (length os)) * product os t - removed_sum os t).
  assert (derive : forall t, is_derive F t (f t)).
  { intros t. unfold F. evar_last.
    - apply (is_derive_mult (fun t => t - 1) (product os) t 1 (slope os t)); [|apply product_slope | intros; apply Rmult_comm].
      auto_derive; auto.
    - unfold f, plus, mult; simpl. unfold mult; simpl. rewrite slope_identity. ring. }
  assert (byparts : is_RInt f 0 1 1).
  { evar_last; [apply (is_RInt_derive F f 0 1)|].
    - intros t _. apply derive.
    - intros t _. unfold f. apply (continuous_minus (fun t => (1 + INR (length os)) * product os t) (removed_sum os)).
      + apply (continuous_scal_r (1 + INR (length os)) (product os)). apply product_continuous.
      + unfold removed_sum. induction (each_removed os) as [|[x others] l IH]; simpl; [apply continuous_const|].
        apply (continuous_plus (fun t => (1 - x) * product others t)); [|exact IH].
        apply (continuous_scal_r (1 - x) (product others)). apply product_continuous.
    - unfold F, minus, plus, opp; simpl.
      assert (product os 0 = 1) as -> by (clear; induction os; simpl; [auto | rewrite IHos; ring]). ring. }
  assert (direct : is_RInt f 0 1 ((1 + INR (length os)) * integral os - total)).
  { apply (is_RInt_minus (fun t => (1 + INR (length os)) * product os t) (removed_sum os)).
    - apply (is_RInt_scal (product os) 0 1 (1 + INR (length os))). apply (RInt_correct (product os)), product_integrable.
    - apply removed_sum_integral. }
  pose proof (is_RInt_unique _ _ _ _ byparts) as e1. pose proof (is_RInt_unique _ _ _ _ direct) as e2. lra.
Qed.

Lemma removed_length : forall os x others, In (x, others) (each_removed os) -> S (length others) = length os.
Proof.
  induction os as [|o os IH]; simpl; intros x others; [tauto|]. intros [e|there].
  - injection e as -> ->. auto.
  - apply in_map_iff in there. destruct there as ([y rest] & e & there). injection e as -> <-. simpl.
    rewrite (IH x rest); auto.
Qed.

Theorem permute_and_flip_closed_form : forall os p n, (length os <= n)%nat -> chance n p os = p * integral os.
Proof.
  intros os p n. revert os. induction n as [|n IH]; intros os few.
  - destruct os; [|simpl in few; lia]. unfold integral. simpl.
    rewrite (RInt_ext _ (fun _ => 1)) by reflexivity. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
  - cbn [chance]. pose proof (pos_INR (length os)) as pos. pose proof (integral_equation os) as eq.
    assert (same : sum_list (fun '(x, others) => (1 - x) * chance n p others) (each_removed os) =
                   p * sum_list (fun '(x, others) => (1 - x) * integral others) (each_removed os)).
    { clear eq. assert (all : forall x others, In (x, others) (each_removed os) -> chance n p others = p * integral others)
        by (intros x others there; apply IH; apply removed_length in there; lia).
      induction (each_removed os) as [|[x others] l IHl]; simpl; [ring|].
      rewrite IHl by (intros; eapply all; right; eauto). rewrite (all x others) by (left; auto). ring. }
    rewrite same. apply (Rmult_eq_reg_r (1 + INR (length os))); [|lra].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. rewrite Rmult_assoc, (Rmult_comm (integral os)), eq. ring.
Qed.

(** ** The guarantee, for weights w = e^(q/b) *)

Lemma product_map : forall ws W t, 0 < W -> product (map (fun w => w / W) ws) t = product ws (/ W * t + 0).
Proof.
  induction ws as [|w ws IH]; intros W t pos; simpl; auto. rewrite IH by auto. f_equal. field. lra.
Qed.

Lemma integral_of_weights : forall ws W, 0 < W ->
  integral (map (fun w => w / W) ws) = W * RInt (product ws) 0 (/ W).
Proof.
  intros ws W pos. unfold integral.
  pose proof (RInt_comp_lin (product ws) (/ W) 0 0 1) as moved. cbv beta in moved.
  rewrite Rmult_0_r, Rmult_1_r, !Rplus_0_r in moved. rewrite <- moved by apply product_integrable.
  rewrite (RInt_scal (fun t => product ws (/ W * t + 0)) 0 1 (/ W)).
  - unfold scal; simpl; unfold mult; simpl. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    apply RInt_ext. intros t _. apply product_map; auto.
  - apply (ex_RInt_ext (product (map (fun w => w / W) ws))); [|apply product_integrable].
    intros t _. apply product_map; auto.
Qed.

Lemma factors_between : forall ws u, 0 <= u -> List.Forall (fun w => 0 < w /\ u * w <= 1) ws -> 0 <= product ws u.
Proof.
  intros ws u pos all. induction all as [|w ws [? ?] rest IH]; simpl; [lra|]. apply Rmult_le_pos; lra.
Qed.

Lemma product_less : forall a u ws ws', 0 <= u -> 0 < a ->
  Forall2 (fun w w' => 0 < w /\ 0 < w' /\ w' <= a * w) ws ws' -> List.Forall (fun w => a * u * w <= 1) ws ->
  product ws (a * u) <= product ws' u /\ 0 <= product ws (a * u).
Proof.
  intros a u ws ws' upos apos near. induction near as [|w w' ws ws' (wpos & wpos' & less) rest IH]; intros small; simpl.
  - lra.
  - inversion small; subst. destruct IH as [IH pos]; auto.
    assert (u * w' <= a * u * w).
    { pose proof (Rmult_le_compat_l u _ _ upos less). lra. }
    split; [|apply Rmult_le_pos; lra]. apply Rmult_le_compat; lra.
Qed.

Lemma weights_move_the_integral : forall a d w w' ws ws' W W', 0 < a -> 0 < W -> 0 < W' -> 0 <= w -> 0 <= d -> 0 <= w' ->
  Forall2 (fun w w' => 0 < w /\ 0 < w' /\ w' <= a * w) ws ws' ->
  List.Forall (fun w => w <= W) ws -> List.Forall (fun w => w <= W') ws' -> W' <= a * W -> w <= d * w' ->
  w * RInt (product ws) 0 (/ W) <= a * d * (w' * RInt (product ws') 0 (/ W')).
Proof.
  intros a d w w' ws ws' W W' apos Wpos Wpos' wpos dpos wpos' near under under' top less.
  assert (aW : 0 < a * W) by (apply Rmult_lt_0_compat; auto).
  assert (edge : / (a * W) <= / W') by (apply Rinv_le_contravar; auto).
  assert (edge_pos : 0 < / (a * W)) by (apply Rinv_0_lt_compat; auto).
  assert (first : RInt (product ws') 0 (/ (a * W)) <= RInt (product ws') 0 (/ W')).
  { rewrite <- (RInt_Chasles (product ws') 0 (/ (a * W)) (/ W')) by apply product_integrable.
    unfold plus; simpl. assert (0 <= RInt (product ws') (/ (a * W)) (/ W')); [|lra].
    apply RInt_ge_0; auto; [apply product_integrable|]. intros u between. apply factors_between; [lra|].
    clear - near under' between Wpos' edge_pos. induction near as [|x x' xs xs' (? & ? & ?) rest IH]; constructor.
    - inversion under'; subst. split; auto. apply Rle_trans with (u * W'); [apply Rmult_le_compat_l; lra|].
      apply (Rmult_le_reg_r (/ W')); [apply Rinv_0_lt_compat; auto|]. rewrite Rmult_assoc, Rinv_r by lra. lra.
    - inversion under'; subst. auto. }
  assert (second : RInt (fun u => product ws (a * u + 0)) 0 (/ (a * W)) <= RInt (product ws') 0 (/ (a * W))).
  { apply RInt_le; [lra | | apply product_integrable |].
    - apply (ex_RInt_ext (product (map (fun w => a * w) ws))); [|apply product_integrable].
      intros u _. clear. induction ws as [|x xs IH]; simpl; auto. rewrite IH. f_equal. ring.
    - intros u between. rewrite Rplus_0_r. apply product_less; auto; [lra|].
      clear - under between apos Wpos aW. induction under as [|x xs less rest IH]; constructor; auto.
      apply Rle_trans with (a * u * W).
      + apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra.
      + apply (Rmult_le_reg_r (/ (a * W))); [apply Rinv_0_lt_compat; auto|].
        replace (a * u * W * / (a * W)) with u by (field; lra). lra. }
  assert (third : a * RInt (fun u => product ws (a * u + 0)) 0 (/ (a * W)) = RInt (product ws) 0 (/ W)).
  { pose proof (RInt_comp_lin (product ws) a 0 0 (/ (a * W))) as moved. cbv beta in moved.
    rewrite Rmult_0_r, !Rplus_0_r in moved. replace (a * / (a * W)) with (/ W) in moved by (field; lra).
    rewrite <- moved by apply product_integrable. symmetry.
    apply (RInt_scal (fun u => product ws (a * u + 0)) 0 (/ (a * W)) a).
    apply (ex_RInt_ext (product (map (fun w => a * w) ws))); [|apply product_integrable].
    intros u _. clear. induction ws as [|x xs IH]; simpl; auto. rewrite IH. f_equal. ring. }
  assert (positive : 0 <= RInt (product ws) 0 (/ W)).
  { apply RInt_ge_0; [left; apply Rinv_0_lt_compat; auto | apply product_integrable|]. intros u between.
    apply factors_between; [lra|]. clear - near under between Wpos.
    induction near as [|x x' xs xs' (? & ? & ?) rest IH]; constructor; inversion under; subst; auto.
    split; auto. apply Rle_trans with (u * W); [apply Rmult_le_compat_l; lra|].
    apply (Rmult_le_reg_r (/ W)); [apply Rinv_0_lt_compat; auto|]. rewrite Rmult_assoc, Rinv_r by lra. lra. }
  apply Rle_trans with (d * w' * RInt (product ws) 0 (/ W)); [apply Rmult_le_compat_r; auto|].
  rewrite <- third.
  replace (a * d * (w' * RInt (product ws') 0 (/ W'))) with (d * w' * (a * RInt (product ws') 0 (/ W'))) by ring.
  apply Rmult_le_compat_l; [apply Rmult_le_pos; auto|]. apply Rmult_le_compat_l; lra.
Qed.

(** ** The guarantee, for scores *)

(** The largest of a list of scores that is not empty. *)
Fixpoint top (x : R) (rest : list R) : R := match rest with [] => x | y :: more => Rmax x (top y more) end.

Definition others (i : nat) (q : list R) : list R := firstn i q ++ skipn (S i) q.

(** The chance that option [i] is the answer, for scores [first :: rest] and noise of scale [b]. *)
Definition permute_and_flip (b first : R) (rest : list R) (i : nat) : R :=
  let q := first :: rest in
  let accept x := exp ((x - top first rest) / b) in
  chance (length q) (accept (nth i q 0)) (map accept (others i q)).

Lemma top_is_largest : forall rest first x, In x (first :: rest) -> x <= top first rest.
Proof.
  induction rest as [|y rest IH]; intros first x [->|there]; simpl; try lra; try (destruct there; fail).
  - apply Rmax_l.
  - eapply Rle_trans; [apply (IH y x there) | apply Rmax_r].
Qed.

Lemma top_moves : forall c q q', Forall2 (fun x y => y <= x + c) q q' -> forall x y, y <= x + c ->
  top y q' <= top x q + c.
Proof.
  induction 1 as [|x' y' q q' near rest IH]; intros x y first; simpl; auto. specialize (IH _ _ near).
  apply Rmax_lub; [pose proof (Rmax_l x (top x' q)) | pose proof (Rmax_r x (top x' q))]; lra.
Qed.

Lemma forall2_others : forall (P : R -> R -> Prop) q q' i, Forall2 P q q' -> Forall2 P (others i q) (others i q').
Proof.
  intros P q q' i near. revert i. induction near as [|x y q q' first rest IH]; intros i; unfold others.
  - destruct i; constructor.
  - destruct i as [|i]; simpl; auto. constructor; auto. apply (IH i).
Qed.

Lemma forall2_nth : forall (P : R -> R -> Prop) q q' i, Forall2 P q q' -> (i < length q)%nat -> P (nth i q 0) (nth i q' 0).
Proof.
  intros P q q' i near. revert i. induction near; intros [|i] inside; simpl in *; try lia; auto. apply IHnear. lia.
Qed.

Lemma others_are_there : forall i q x, In x (others i q) -> In x q.
Proof.
  intros i q x there. rewrite <- (firstn_skipn i q). apply in_or_app. apply in_app_or in there as [|there]; auto. right.
  clear - there. revert q there. induction i; intros [|y q] there; simpl in *; auto; try tauto.
Qed.

Lemma others_length : forall i q, (length (others i q) <= length q)%nat.
Proof. intros. unfold others. rewrite app_length, firstn_length, skipn_length. lia. Qed.

Lemma by_weights : forall b first rest i, 0 < b ->
  permute_and_flip b first rest i =
  exp (nth i (first :: rest) 0 / b) *
  RInt (product (map (fun x => exp (x / b)) (others i (first :: rest)))) 0 (/ exp (top first rest / b)).
Proof.
  intros b first rest i pos. unfold permute_and_flip. set (q := first :: rest). set (W := exp (top first rest / b)).
  assert (Wpos : 0 < W) by apply exp_pos.
  assert (share : forall x, exp ((x - top first rest) / b) = exp (x / b) / W).
  { intros x. unfold W. replace ((x - top first rest) / b) with (x / b + - (top first rest / b)) by (field; lra).
    rewrite exp_plus, exp_Ropp. reflexivity. }
  rewrite permute_and_flip_closed_form by (rewrite map_length; apply others_length).
  rewrite (map_ext _ (fun x => exp (x / b) / W)) by auto. rewrite <- (map_map (fun x => exp (x / b)) (fun w => w / W)).
  rewrite integral_of_weights, share by auto. field. lra.
Qed.

(** Scores that gain at most [up], and option [i] loses at most [down]: its chance falls by at most e^((up + down)/b). *)
Lemma permute_and_flip_moves : forall b up down first rest first' rest' i, 0 < b ->
  Forall2 (fun x y => y <= x + up) (first :: rest) (first' :: rest') ->
  nth i (first :: rest) 0 <= nth i (first' :: rest') 0 + down ->
  permute_and_flip b first rest i <= exp ((up + down) / b) * permute_and_flip b first' rest' i.
Proof.
  intros b up down first rest first' rest' i pos near loses. rewrite !by_weights by auto.
  assert (grows : forall x y c, y <= x + c -> exp (y / b) <= exp (c / b) * exp (x / b)).
  { intros x y c less. rewrite <- exp_plus.
    assert (y / b <= c / b + x / b) as [lt|eq]; [|left; apply exp_increasing; auto | rewrite eq; lra].
    apply (Rmult_le_reg_r b); auto. unfold Rdiv. rewrite Rmult_plus_distr_r, !Rmult_assoc, Rinv_l by lra. lra. }
  replace (exp ((up + down) / b)) with (exp (up / b) * exp (down / b))
    by (rewrite <- exp_plus; f_equal; field; lra).
  apply weights_move_the_integral; try apply exp_pos; try (left; apply exp_pos).
  - apply (forall2_others _ _ _ i) in near. induction near; simpl; constructor; auto.
    repeat split; try apply exp_pos. apply grows; auto.
  - apply Forall_forall. intros w there. apply in_map_iff in there. destruct there as (x & <- & there).
    apply others_are_there, top_is_largest in there.
    replace (exp (top first rest / b)) with (exp (0 / b) * exp (top first rest / b))
      by (unfold Rdiv at 1; rewrite Rmult_0_l, exp_0; ring). apply grows. lra.
  - apply Forall_forall. intros w there. apply in_map_iff in there. destruct there as (x & <- & there).
    apply others_are_there, top_is_largest in there.
    replace (exp (top first' rest' / b)) with (exp (0 / b) * exp (top first' rest' / b))
      by (unfold Rdiv at 1; rewrite Rmult_0_l, exp_0; ring). apply grows. lra.
  - apply grows. inversion near; subst. apply top_moves; auto.
  - apply grows. auto.
Qed.

(** Scores that move by at most [d] in any direction: noise of scale 2d/ε gives ε. *)
Theorem permute_and_flip_is_private : forall b d first rest first' rest' i, 0 < b -> (i <= length rest)%nat ->
  Forall2 (fun x y => Rabs (x - y) <= d) (first :: rest) (first' :: rest') ->
  permute_and_flip b first rest i <= exp (2 * d / b) * permute_and_flip b first' rest' i.
Proof.
  intros b d first rest first' rest' i pos inside near. replace (2 * d) with (d + d) by ring.
  apply permute_and_flip_moves; auto.
  - induction near; constructor; auto. revert H. unfold Rabs. destruct Rcase_abs; lra.
  - apply (forall2_nth _ _ _ i) in near; [|simpl; lia]. revert near. unfold Rabs. destruct Rcase_abs; lra.
Qed.

(** Scores that all move in the same direction, by at most [d] (counts): noise of scale d/ε gives ε. *)
Theorem permute_and_flip_of_counts : forall b d first rest first' rest' i, 0 < b -> (i <= length rest)%nat ->
  Forall2 (fun x y => x <= y <= x + d) (first :: rest) (first' :: rest') ->
  permute_and_flip b first rest i <= exp (d / b) * permute_and_flip b first' rest' i /\
  permute_and_flip b first' rest' i <= exp (d / b) * permute_and_flip b first rest i.
Proof.
  intros b d first rest first' rest' i pos inside near. pose proof (forall2_nth _ _ _ i near ltac:(simpl; lia)) as here.
  split; [replace d with (d + 0) at 1 by ring | replace d with (0 + d) at 1 by ring]; apply permute_and_flip_moves;
    auto; try lra.
  - clear - near. induction near; constructor; auto. lra.
  - clear - near. induction near; constructor; auto. lra.
Qed.
