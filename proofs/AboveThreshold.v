(** Above-threshold: which is the first of many numbers that is at least a threshold, at ε whatever their number
    (src/privjail/mechanisms/above_threshold.py). *)

From Coq Require Import Reals Lra Lia List ZArith Bool.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Laws Laplace NoisyMax.
Import ListNotations.
Open Scope R_scope.

(** ** Answers that are numbered: single answers are enough *)

Lemma single_answers_are_enough : forall noises (answer answer' : list Z -> nat) m c,
  (forall zs, length zs = length noises -> (answer zs < m)%nat /\ (answer' zs < m)%nat) ->
  (forall i, (i < m)%nat ->
    E (noise_list noises) (fun zs => if Nat.eqb (answer zs) i then 1 else 0) <=
    c * E (noise_list noises) (fun zs => if Nat.eqb (answer' zs) i then 1 else 0)) ->
  forall S : nat -> bool, E (noise_list noises) (fun zs => indicator S (answer zs)) <=
                          c * E (noise_list noises) (fun zs => indicator S (answer' zs)).
Proof.
  intros noises answer answer' m c inside single S. set (M := noise_list noises).
  set (hit := fun (a : list Z -> nat) (i : nat) zs => indicator S i * (if Nat.eqb (a zs) i then 1 else 0)).
  assert (single_bound : forall (a : list Z -> nat) i, Bounded (fun zs => if Nat.eqb (a zs) i then 1 else 0))
    by (intros; apply (bounded_between _ 1); intros zs; destruct (Nat.eqb _ i); lra).
  assert (bounded : forall a i, Bounded (hit a i)) by (intros; apply bounded_scale; auto).
  assert (split : forall a, (forall zs, length zs = length noises -> (a zs < m)%nat) ->
    E M (fun zs => indicator S (a zs)) = sum_to m (fun i => E M (hit a i))).
  { intros a less. destruct (E_sum_to _ M (hit a) m (bounded a)) as [bsum <-].
    assert (eq : forall zs, length zs = length noises -> indicator S (a zs) = sum_to m (fun i => hit a i zs)).
    { intros zs len. transitivity (sum_to m (fun i => if Nat.eqb (a zs) i then indicator S (a zs) else 0)).
      - rewrite sum_to_picks. specialize (less zs len). destruct (Nat.ltb_spec (a zs) m); auto; lia.
      - clear. induction m as [|n IH]; simpl; auto. rewrite IH. f_equal. unfold hit.
        destruct (Nat.eqb_spec (a zs) n) as [->|]; ring. }
    apply Rle_antisym; apply noise_list_monotone; auto with laws; intros zs len; rewrite (eq zs len); lra. }
  rewrite !split by (intros; apply inside; auto). apply sum_to_less. intros i less. unfold hit.
  unfold M. rewrite !E_scale by auto. specialize (single i less). pose proof (indicator_between S i).
  pose proof (Rmult_le_compat_l (indicator S i) _ _ (proj1 H) single). lra.
Qed.

(** ** The mechanism *)

Fixpoint first_above (line : Z) (y : list Z) : option nat :=
  match y with
  | [] => None
  | x :: rest => if (line <=? x)%Z then Some 0%nat else option_map S (first_above line rest)
  end.

(** The first noise is that of the threshold. *)
Definition answer (threshold : Z) (q z : list Z) : option nat :=
  match z with [] => None | rho :: nu => first_above (threshold + rho) (add q nu) end.

Definition above_threshold (outer inner : law Z) (threshold : Z) (q : list Z) : law (option nat) :=
  bind (noise_list (outer :: repeat inner (length q))) (fun z => ret (answer threshold q z)).

(** What an answer says about the numbers. *)
Lemma first_above_says : forall line y, match first_above line y with
  | Some i => (i < length y)%nat /\ (line <= nth i y 0)%Z /\ forall j, (j < i)%nat -> (nth j y 0 < line)%Z
  | None => forall j, (j < length y)%nat -> (nth j y 0 < line)%Z
  end.
Proof.
  induction y as [|x y IH]; simpl; [intros; lia|]. destruct (Z.leb_spec line x) as [above|below].
  - repeat split; try lia. 
  - destruct (first_above line y) as [i|]; simpl.
    + destruct IH as (inside & above & before). repeat split; try lia. intros [|j] less; auto. apply before. lia.
    + intros [|j] less; auto. apply IH. lia.
Qed.

Lemma first_above_is : forall y line i, (i < length y)%nat -> (line <= nth i y 0)%Z ->
  (forall j, (j < i)%nat -> (nth j y 0 < line)%Z) -> first_above line y = Some i.
Proof.
  induction y as [|x y IH]; intros line i inside above before; simpl in inside; [lia|]. simpl.
  destruct i as [|i].
  - simpl in above. destruct (Z.leb_spec line x); auto; lia.
  - pose proof (before 0%nat ltac:(lia)) as first. simpl in first. destruct (Z.leb_spec line x); [lia|].
    rewrite (IH line i); auto; try lia. intros j less. apply (before (S j)). lia.
Qed.

Lemma first_above_none : forall y line, (forall j, (j < length y)%nat -> (nth j y 0 < line)%Z) -> first_above line y = None.
Proof.
  induction y as [|x y IH]; intros line below; auto. simpl. pose proof (below 0%nat ltac:(simpl; lia)) as first.
  simpl in first. destruct (Z.leb_spec line x); [lia|]. rewrite IH; auto. intros j less. apply (below (S j)). simpl. lia.
Qed.

(** Answers by number: 0 is None. *)
Definition code (a : option nat) : nat := match a with None => 0%nat | Some i => S i end.
Definition decode (n : nat) : option nat := match n with O => None | S i => Some i end.

Lemma decode_code : forall a, decode (code a) = a.
Proof. destruct a; reflexivity. Qed.

(** Noise of scale 2Δ/ε on the threshold covers all that were below (ε/2), noise of scale 4Δ/ε on each number the one that
    was above (ε/2). *)
Theorem above_threshold_is_private : forall (b0 b1 : R) outer inner threshold q q' (d : Z), (0 <= d)%Z -> 0 < b0 -> 0 < b1 ->
  Shifts b0 outer -> Shifts b1 inner -> length q = length q' -> (forall j, (Z.abs (nth j q 0 - nth j q' 0) <= d)%Z) ->
  DP_inequality (above_threshold outer inner threshold q) (above_threshold outer inner threshold q')
    (IZR d / b0 + IZR (2 * d) / b1) 0.
Proof.
  intros b0 b1 outer inner threshold q q' d dpos pos0 pos1 shifts0 shifts1 len near S.
  unfold measure, above_threshold. rewrite Rplus_0_r, <- len.
  set (noises := outer :: repeat inner (length q)).
  change (E (noise_list noises) (fun z => indicator S (answer threshold q z)) <=
    exp (IZR d / b0 + IZR (2 * d) / b1) * E (noise_list noises) (fun z => indicator S (answer threshold q' z))).
  assert (same : forall p, E (noise_list noises) (fun z => indicator S (answer threshold p z)) =
                 E (noise_list noises) (fun z => indicator (fun n => S (decode n)) (code (answer threshold p z)))).
  { intros p. apply E_same; auto with laws. intros z. unfold indicator. rewrite decode_code. reflexivity. }
  rewrite !same. clear same.
  assert (nlen : length noises = Datatypes.S (length q)) by (unfold noises; simpl; rewrite repeat_length; auto).
  apply (single_answers_are_enough noises _ _ (Datatypes.S (length q))).
  - intros zs zl. rewrite nlen in zl. destruct zs as [|rho nu]; [discriminate|]. simpl in zl. injection zl as zl.
    unfold answer. split.
    + pose proof (first_above_says (threshold + rho) (add q nu)) as says.
      destruct (first_above _ (add q nu)); simpl; [|lia]. rewrite add_length in says by lia. lia.
    + pose proof (first_above_says (threshold + rho) (add q' nu)) as says.
      destruct (first_above _ (add q' nu)); simpl; [|lia]. rewrite add_length in says by lia. lia.
  - intros n inside.
    set (is := fun (p : list Z) zs => if Nat.eqb (code (answer threshold p zs)) n then 1 else 0).
    assert (range : forall p zs, 0 <= is p zs <= 1) by (intros; unfold is; destruct (Nat.eqb _ n); lra).
    assert (bounded : forall p, Bounded (is p)) by (intros; apply (bounded_between _ 1); auto).
    change (E (noise_list noises) (is q) <= exp (IZR d / b0 + IZR (2 * d) / b1) * E (noise_list noises) (is q')).
    (* the noise of the threshold moves by d, that of the answer by 2d *)
    set (moved := fun zs => bump 0 d (match n with O => zs | Datatypes.S i => bump (Datatypes.S i) (2 * d) zs end)).
    apply Rle_trans with (E (noise_list noises) (fun zs => is q' (moved zs))).
    + apply noise_list_monotone; auto with laws. intros zs zl. rewrite nlen in zl.
      destruct zs as [|rho nu]; [discriminate|]. simpl in zl. injection zl as zl.
      unfold is at 1. destruct (Nat.eqb_spec (code (answer threshold q (rho :: nu))) n) as [<-|]; [|apply range].
      enough (yes : answer threshold q' (moved (rho :: nu)) = answer threshold q (rho :: nu))
        by (unfold is; rewrite yes, Nat.eqb_refl; lra).
      unfold moved, answer. pose proof (first_above_says (threshold + rho) (add q nu)) as says.
      destruct (first_above (threshold + rho) (add q nu)) as [i|] eqn:found; cbn [code bump].
      * destruct says as (ilen & above & before). rewrite add_length in ilen by lia.
        rewrite nth_add in above by lia. apply first_above_is.
        -- rewrite add_length; rewrite bump_length; lia.
        -- rewrite nth_add by (rewrite bump_length; lia). rewrite nth_bump by lia. rewrite Nat.eqb_refl.
           specialize (near i). lia.
        -- intros j less. specialize (before j less). rewrite nth_add in * by (rewrite ?bump_length; lia).
           rewrite nth_bump by lia. destruct (Nat.eqb_spec j i); [lia|]. specialize (near j). lia.
      * apply first_above_none. intros j less. rewrite add_length in * by lia. specialize (says j less).
        rewrite nth_add in * by lia. specialize (near j). lia.
    + assert (first : forall f, Bounded f -> (forall zs, 0 <= f zs) ->
        E (noise_list noises) (fun zs => f (bump 0 d zs)) <= exp (IZR d / b0) * E (noise_list noises) f).
      { intros f bf fpos. pose proof (bump_one noises 0 b0 outer d f) as one. rewrite Z.abs_eq in one by auto.
        apply one; auto. }
      assert (ratio1 : 1 <= exp (IZR (2 * d) / b1)).
      { rewrite <- exp_0. destruct (Rle_lt_or_eq_dec 0 (IZR (2 * d) / b1)) as [less| <-]; try lra.
        - apply Rmult_le_pos; [apply (IZR_le 0); lia | left; apply Rinv_0_lt_compat; auto].
        - left. apply exp_increasing; auto. }
      pose proof (exp_pos (IZR d / b0)) as e0.
      assert (qpos : 0 <= E (noise_list noises) (is q')) by (apply E_not_negative; auto; intros; apply range).
      rewrite exp_plus, Rmult_assoc. destruct n as [|i]; unfold moved.
      * eapply Rle_trans; [apply (first (is q')); auto; intros; apply range|].
        apply Rmult_le_compat_l; [lra|]. pose proof (Rmult_le_compat_r _ _ _ qpos ratio1). lra.
      * eapply Rle_trans; [|apply Rmult_le_compat_l; [left; apply exp_pos|
          pose proof (bump_one noises (Datatypes.S i) b1 inner (2 * d) (is q')) as two;
          rewrite Z.abs_eq in two by lia; apply two; auto; [|intros; apply range]]].
        -- pose proof (first (fun zs => is q' (bump (Datatypes.S i) (2 * d) zs))) as one.
           eapply Rle_trans; [|apply one; auto with laws; intros; apply range].
           right. apply E_same; auto with laws. intros zs. f_equal. destruct zs; reflexivity.
        -- simpl. apply nth_error_repeat. lia.
Qed.

(** The mechanism as shipped: ε for scales 2d/ε and 4d/ε. *)
(* mechanism: AboveThreshold *)
Corollary above_threshold_with_laplace_noise : forall (b0 b1 : posreal) (eps : R) threshold q q' (d : Z), (0 <= d)%Z ->
  IZR (2 * d) <= eps * b0 -> IZR (4 * d) <= eps * b1 ->
  length q = length q' -> (forall j, (Z.abs (nth j q 0 - nth j q' 0) <= d)%Z) ->
  DP_inequality (above_threshold (laplace_noise b0) (laplace_noise b1) threshold q)
                (above_threshold (laplace_noise b0) (laplace_noise b1) threshold q') eps 0.
Proof.
  intros b0 b1 eps threshold q q' d pos wide0 wide1 len near.
  apply (promising_less _ _ _ (IZR d / b0 + IZR (2 * d) / b1) 0); try lra.
  - pose proof (cond_pos b0). pose proof (cond_pos b1). rewrite !mult_IZR in *.
    assert (IZR d / b0 <= eps / 2) by (apply (Rmult_le_reg_r b0); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
    assert (2 * IZR d / b1 <= eps / 2) by (apply (Rmult_le_reg_r b1); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
    lra.
  - apply above_threshold_is_private; auto; try apply cond_pos; apply laplace_noise_shifts.
Qed.
