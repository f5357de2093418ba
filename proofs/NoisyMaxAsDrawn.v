(** Noisy max as the library draws it: permute and flip is a law, and its guarantee holds for every set of answers
    (src/privjail/mechanisms/noisy_max.py). *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Laws Laplace NoisyMax Choices PermuteAndFlip.
Import ListNotations.
Open Scope R_scope.

(** ** The chances add up to 1, so the guarantee holds for every set of answers *)

Lemma removed_slope : forall os t, slope os t = - sum_list (fun '(x, rest) => x * product rest t) (each_removed os).
Proof.
  induction os as [|o os IH]; intros t; simpl; [ring|]. rewrite IH.
  assert (inner : sum_list (fun '(x, rest) => x * product rest t)
      (map (fun '(x, others) => (x, o :: others)) (each_removed os)) =
    (1 - t * o) * sum_list (fun '(x, rest) => x * product rest t) (each_removed os)).
  { clear IH. induction (each_removed os) as [|[x r] l IHl]; simpl; [ring|]. rewrite IHl. ring. }
  rewrite inner. ring.
Qed.

Lemma chances_of_all : forall os,
  sum_list (fun '(x, rest) => x * integral rest) (each_removed os) = 1 - product os 1.
Proof.
  intros os.
  assert (whole : is_RInt (slope os) 0 1 (product os 1 - product os 0)).
  { apply (is_RInt_derive (product os) (slope os) 0 1).
    - intros t _. apply product_slope.
    - intros t _. apply (continuous_ext (fun t => - sum_list (fun '(x, rest) => x * product rest t) (each_removed os))).
      + intros. symmetry. apply removed_slope.
      + apply (continuous_opp (fun t => sum_list (fun '(x, rest) => x * product rest t) (each_removed os))).
        induction (each_removed os) as [|[x rest] l IH]; simpl; [apply continuous_const|].
        apply (continuous_plus (fun t => x * product rest t)); [|exact IH].
        apply (continuous_scal_r x (product rest)). apply product_continuous. }
  assert (parts : is_RInt (slope os) 0 1 (- sum_list (fun '(x, rest) => x * integral rest) (each_removed os))).
  { apply (is_RInt_ext (fun t => - sum_list (fun '(x, rest) => x * product rest t) (each_removed os))).
    - intros. symmetry. apply removed_slope.
    - apply (is_RInt_opp (fun t => sum_list (fun '(x, rest) => x * product rest t) (each_removed os))).
      induction (each_removed os) as [|[x rest] l IH]; simpl.
      + evar_last; [apply (is_RInt_const 0 1 0)|]. unfold scal; simpl; unfold mult; simpl. ring.
      + apply (is_RInt_plus (fun t => x * product rest t)
          (fun t => sum_list (fun '(x, rest) => x * product rest t) l)); [|exact IH].
        apply (is_RInt_scal (product rest) 0 1 x). apply (RInt_correct (product rest)), product_integrable. }
  pose proof (is_RInt_unique _ _ _ _ whole) as e1. pose proof (is_RInt_unique _ _ _ _ parts) as e2.
  assert (product os 0 = 1) by (clear; induction os; simpl; [auto | rewrite IHos; ring]). lra.
Qed.

Lemma sum_to_shift : forall m f, sum_to (S m) f = f 0%nat + sum_to m (fun i => f (S i)).
Proof. induction m as [|m IH]; intros f; [simpl; ring|]. change (sum_to (S (S m)) f) with (sum_to (S m) f + f (S m)).
  rewrite IH. simpl. ring. Qed.

Lemma by_position : forall (g : R -> list R -> R) os,
  sum_to (length os) (fun i => g (nth i os 0) (others i os)) = sum_list (fun '(x, rest) => g x rest) (each_removed os).
Proof.
  intros g os. revert g. induction os as [|o os IH]; intros g; [reflexivity|].
  change (length (o :: os)) with (S (length os)). rewrite sum_to_shift. simpl. f_equal.
  specialize (IH (fun x rest => g x (o :: rest))).
  transitivity (sum_list (fun '(x, rest) => g x (o :: rest)) (each_removed os)); [exact IH|]. clear IH.
  induction (each_removed os) as [|[x r] l IHl]; simpl; auto. rewrite IHl. reflexivity.
Qed.

Lemma others_map : forall (f : R -> R) i q, others i (map f q) = map f (others i q).
Proof. intros. unfold others. rewrite map_app, firstn_map, skipn_map. reflexivity. Qed.

Lemma product_with_one : forall os, In 1 os -> product os 1 = 0.
Proof. induction os as [|o os IH]; simpl; intros []; [subst; ring | rewrite IH by auto; ring]. Qed.

Lemma top_is_there : forall rest first, In (top first rest) (first :: rest).
Proof.
  induction rest as [|y rest IH]; intros first; simpl; auto. unfold Rmax. destruct (Rle_dec first (top y rest)); auto.
  right. apply IH.
Qed.

Theorem permute_and_flip_always_answers : forall b first rest, 0 < b ->
  sum_to (S (length rest)) (permute_and_flip b first rest) = 1.
Proof.
  intros b first rest pos. set (accept := fun x => exp ((x - top first rest) / b)). set (q := first :: rest).
  assert (same : forall i, (i < length (map accept q))%nat ->
    permute_and_flip b first rest i = nth i (map accept q) 0 * integral (others i (map accept q))).
  { intros i inside. rewrite map_length in inside. unfold permute_and_flip. fold accept. fold q.
    rewrite permute_and_flip_closed_form by (rewrite map_length; apply others_length). rewrite others_map. f_equal.
    rewrite (nth_indep (map accept q) 0 (accept 0)) by (rewrite map_length; auto). rewrite map_nth. reflexivity. }
  replace (S (length rest)) with (length (map accept q)) by (rewrite map_length; reflexivity).
  transitivity (sum_to (length (map accept q))
    (fun i => nth i (map accept q) 0 * integral (others i (map accept q)))).
  - apply sum_to_same. auto.
  - rewrite (by_position (fun x rest => x * integral rest)), chances_of_all, product_with_one; [ring|].
    apply in_map_iff. exists (top first rest). split; [|apply top_is_there]. unfold accept.
    replace ((top first rest - top first rest) / b) with 0 by (field; lra). apply exp_0.
Qed.

Lemma permute_and_flip_not_negative : forall b first rest i, 0 < b -> 0 <= permute_and_flip b first rest i.
Proof.
  intros b first rest i pos. rewrite by_weights by auto. apply Rmult_le_pos; [left; apply exp_pos|].
  apply RInt_ge_0; [left; apply Rinv_0_lt_compat, exp_pos | apply product_integrable|]. intros u between.
  apply factors_between; [lra|]. apply Forall_forall. intros w there. apply in_map_iff in there.
  destruct there as (x & <- & there). apply others_are_there, top_is_largest in there. split; [apply exp_pos|].
  apply Rle_trans with (u * exp (top first rest / b)).
  - apply Rmult_le_compat_l; [lra|]. assert (x / b <= top first rest / b) as [less| ->]; try lra.
    + apply Rmult_le_compat_r; auto. left. apply Rinv_0_lt_compat; auto.
    + left. apply exp_increasing; auto.
  - apply (Rmult_le_reg_r (/ exp (top first rest / b))); [apply Rinv_0_lt_compat, exp_pos|].
    rewrite Rmult_assoc, Rinv_r by (apply Rgt_not_eq, exp_pos). lra.
Qed.

(** The law of the answer. *)
Definition permute_and_flip_law (b : posreal) (first : R) (rest : list R) : law nat.
Proof.
  refine (choose (S (length rest)) (permute_and_flip b first rest) _ _).
  - intros i. apply permute_and_flip_not_negative, cond_pos.
  - rewrite permute_and_flip_always_answers by apply cond_pos. lra.
Defined.

Lemma same_length : forall (P : R -> R -> Prop) q q', Forall2 P q q' -> length q = length q'.
Proof. induction 1; simpl; auto. Qed.

Lemma permute_and_flip_sets : forall (b : posreal) first rest first' rest' eps, length rest = length rest' ->
  (forall i, (i <= length rest)%nat -> permute_and_flip b first rest i <= exp eps * permute_and_flip b first' rest' i) ->
  DP_inequality (permute_and_flip_law b first rest) (permute_and_flip_law b first' rest') eps 0.
Proof.
  intros b first rest first' rest' eps len near S. unfold measure, permute_and_flip_law. cbn [E choose].
  rewrite !permute_and_flip_always_answers by apply cond_pos. unfold Rdiv. rewrite Rinv_1, !Rmult_1_r, Rplus_0_r, <- len.
  apply sum_to_less. intros i inside. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply indicator_between|].
  apply near. lia.
Qed.

(** Noisy max as the library draws it, for every number of options: (2d/b, 0), and (d/b, 0) for counts. *)
(* mechanism: NoisyMax *)
Theorem noisy_max_as_drawn : forall (b : posreal) d first rest first' rest',
  Forall2 (fun x y => Rabs (x - y) <= d) (first :: rest) (first' :: rest') ->
  DP_inequality (permute_and_flip_law b first rest) (permute_and_flip_law b first' rest') (2 * d / b) 0.
Proof.
  intros b d first rest first' rest' near. apply permute_and_flip_sets.
  - apply same_length in near. simpl in near. lia.
  - intros i inside. apply permute_and_flip_is_private; auto. apply cond_pos.
Qed.

(* mechanism: NoisyMax *)
Theorem noisy_max_of_counts_as_drawn : forall (b : posreal) d first rest first' rest',
  Forall2 (fun x y => x <= y <= x + d) (first :: rest) (first' :: rest') ->
  DP_inequality (permute_and_flip_law b first rest) (permute_and_flip_law b first' rest') (d / b) 0 /\
  DP_inequality (permute_and_flip_law b first' rest') (permute_and_flip_law b first rest) (d / b) 0.
Proof.
  intros b d first rest first' rest' near.
  assert (len : length rest = length rest') by (apply same_length in near; simpl in near; lia).
  split; apply permute_and_flip_sets; auto; intros i inside;
    destruct (permute_and_flip_of_counts b d first rest first' rest' i (cond_pos b)) as [up down]; auto; lia.
Qed.
