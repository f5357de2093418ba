(** Report noisy max with real-valued Laplace noise: the theorem of the Isabelle development that is quoted in NoisyMax.v,
    with the noise that it has there. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Distance Rows Laws NoisyMax Choices PermuteAndFlip NoisyMaxAsDrawn RealLaplace.
Import ListNotations.
Open Scope R_scope.

(** ** The law of the answer, and the theorem *)

Definition real_noisy_max_law (b : posreal) (first : R) (rest : list R) : law nat.
Proof.
  refine (choose (S (length rest)) (real_noisy_max b (first :: rest)) _ _).
  - intros i. apply real_noisy_max_not_negative, cond_pos.
  - rewrite real_noisy_max_always_answers by apply cond_pos. lra.
Defined.

Lemma real_noisy_max_sets : forall (b : posreal) up down first rest first' rest', 0 <= up ->
  Forall2 (fun x y => x - down <= y <= x + up) (first :: rest) (first' :: rest') ->
  DP_inequality (real_noisy_max_law b first rest) (real_noisy_max_law b first' rest') ((up + down) / b) 0.
Proof.
  intros b up down first rest first' rest' pos near S. pose proof (same_length _ _ _ near) as len. simpl in len.
  unfold measure, real_noisy_max_law. cbn [E choose].
  rewrite !real_noisy_max_always_answers by apply cond_pos. unfold Rdiv at 1 3.
  rewrite Rinv_1, !Rmult_1_r, Rplus_0_r. replace (length rest') with (length rest) by lia.
  apply sum_to_less. intros i inside. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply indicator_between|].
  apply real_noisy_max_moves; [apply cond_pos | exact pos | | simpl; lia |].
  - clear - near. induction near; constructor; auto. lra.
  - pose proof (forall2_nth _ _ _ i near ltac:(simpl; lia)). simpl in *. lra.
Qed.

Section CountingReal.
Context {A : Type} (first_query : A -> bool) (more_queries : list (A -> bool)).

Definition count_of (x : list A) (p : A -> bool) : R := INR (length (filter p x)).

(** RMN_counting: Laplace noise of scale 1/ε on each count, and the position of the largest. *)
Definition RNM_counting_real (eps : posreal) (x : list A) : law nat :=
  real_noisy_max_law (mkposreal (/ eps) (Rinv_0_lt_compat eps (cond_pos eps)))
    (count_of x first_query) (map (count_of x) more_queries).

(* mechanism: NoisyMax *)
Theorem differential_privacy_LapMech_RNM_real : forall eps : posreal,
  differential_privacy (RNM_counting_real eps) adjacency_RNM_counting eps 0.
Proof.
  intros eps. assert (one_way : forall x y, adjacency_RNM_counting x y ->
    DP_inequality (RNM_counting_real eps x) (RNM_counting_real eps y) eps 0).
  { intros x y near. unfold RNM_counting_real.
    set (b := mkposreal (/ eps) (Rinv_0_lt_compat eps (cond_pos eps))).
    assert (scale : 1 / b = eps) by (simpl; unfold Rdiv; rewrite Rinv_inv; ring).
    assert (moves : (forall p, count_of x p <= count_of y p <= count_of x p + 1) \/
                    (forall p, count_of y p <= count_of x p <= count_of y p + 1)).
    { unfold count_of. destruct near as [(ins & del & s & few & none)|(ins & del & s & none & few)]; [left | right];
      intros p; apply (Rows.filter_keeps_the_distance A p), script_length in s;
      pose proof (Rows.filter_shortens A p ins); pose proof (Rows.filter_shortens A p del);
      rewrite <- S_INR; split; apply le_INR; lia. }
    assert (all : forall up down, (forall p, count_of x p - down <= count_of y p <= count_of x p + up) ->
      Forall2 (fun u v => u - down <= v <= u + up)
        (count_of x first_query :: map (count_of x) more_queries)
        (count_of y first_query :: map (count_of y) more_queries)).
    { intros up down each. constructor; auto. induction more_queries; simpl; constructor; auto. }
    rewrite <- scale. destruct moves as [moves|moves].
    - replace 1 with (1 + 0) by ring. apply real_noisy_max_sets; [lra|]. apply all. intros p. specialize (moves p). lra.
    - replace 1 with (0 + 1) by ring. apply real_noisy_max_sets; [lra|]. apply all. intros p. specialize (moves p). lra. }
  intros x y near. split; apply one_way; auto. destruct near as [near|near]; [right | left]; apply within_swap; auto.
Qed.
End CountingReal.
