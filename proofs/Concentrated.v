(** Zero-concentrated differential privacy: releases chosen one after another, and the filter of the ledger
    (src/privjail/budget/notions.py, src/privjail/budget/ledger.py).

    The law of a release with finitely many answers, on two neighbours, is a list of pairs of chances (p, q). Answers that
    neither gives are left out; an answer that only one gives has no finite ρ. Its moment of order α is Σ p^α·q^(1-α),
    which is exp((α-1)·D_α). A release is ρ-zCDP if its moments are at most exp(α·(α-1)·ρ) for all α > 1. *)

From Coq Require Import Reals Lra List.
Import ListNotations.
Open Scope R_scope.

Definition positive (l : list (R * R)) : Prop := Forall (fun pq => 0 < fst pq /\ 0 < snd pq) l.

Fixpoint moment (alpha : R) (l : list (R * R)) : R :=
  match l with
  | [] => 0
  | (p, q) :: rest => Rpower p alpha * Rpower q (1 - alpha) + moment alpha rest
  end.

Definition concentrated (rho : R) (l : list (R * R)) : Prop :=
  forall alpha, 1 < alpha -> moment alpha l <= exp (alpha * (alpha - 1) * rho).

(** The chances of one answer after another: the second release may depend on the number of the first answer. *)
Definition after (p q : R) : list (R * R) -> list (R * R) := map (fun xy => (p * fst xy, q * snd xy)).

Fixpoint joint (l : list (R * R)) (next : nat -> list (R * R)) (i : nat) : list (R * R) :=
  match l with
  | [] => []
  | (p, q) :: rest => after p q (next i) ++ joint rest next (S i)
  end.

Lemma moment_app : forall alpha l r, moment alpha (l ++ r) = moment alpha l + moment alpha r.
Proof. intros alpha l r. induction l as [|[p q] l IH]; cbn [moment app]; [|rewrite IH]; ring. Qed.

Lemma moment_after : forall alpha p q l, 0 < p -> 0 < q -> positive l ->
  moment alpha (after p q l) = Rpower p alpha * Rpower q (1 - alpha) * moment alpha l.
Proof.
  intros alpha p q l pp pq pos. induction pos as [|[x y] l [px py] pos IH]; cbn [moment after map fst snd]; [ring|].
  cbn [fst snd] in px, py. fold (after p q l). rewrite IH, <- !Rpower_mult_distr by assumption. ring.
Qed.

Lemma positive_after : forall p q l, 0 < p -> 0 < q -> positive l -> positive (after p q l).
Proof.
  intros p q l pp pq pos. induction pos as [|[x y] l [px py] pos IH]; cbn [after map]; constructor; auto.
  cbn [fst snd] in *. split; apply Rmult_lt_0_compat; assumption.
Qed.

Lemma positive_joint : forall l next, positive l -> (forall i, positive (next i)) -> forall i, positive (joint l next i).
Proof.
  intros l next pos each. induction pos as [|[p q] l [pp pq] pos IH]; intros i; cbn [joint]; [constructor|].
  apply Forall_app. split; [apply positive_after; auto | apply IH].
Qed.

Lemma moment_joint : forall alpha most l next, positive l -> (forall i, positive (next i)) ->
  (forall i, moment alpha (next i) <= most) -> forall i, moment alpha (joint l next i) <= moment alpha l * most.
Proof.
  intros alpha most l next pos each less. induction pos as [|[p q] l [pp pq] pos IH]; intros i; cbn [joint moment].
  - lra.
  - cbn [fst snd] in pp, pq. rewrite moment_app, moment_after, Rmult_plus_distr_r by auto.
    apply Rplus_le_compat; [|apply IH]. apply Rmult_le_compat_l; [|apply less].
    left. apply Rmult_lt_0_compat; apply exp_pos.
Qed.

(** Two releases, the second chosen by the answer of the first: ρ adds up. *)
Theorem concentrated_composition : forall rho1 rho2 l next, positive l -> (forall i, positive (next i)) ->
  concentrated rho1 l -> (forall i, concentrated rho2 (next i)) -> concentrated (rho1 + rho2) (joint l next 0).
Proof.
  intros rho1 rho2 l next pos each first second alpha big.
  apply Rle_trans with (moment alpha l * exp (alpha * (alpha - 1) * rho2)).
  - apply moment_joint; auto. intros i. apply second, big.
  - rewrite Rmult_plus_distr_l, exp_plus. apply Rmult_le_compat_r; [left; apply exp_pos | apply first, big].
Qed.

(** An analyst: what is asked next may depend on all answers and refusals so far. *)
Inductive analyst : Type :=
| Stop : analyst
| Ask : R -> list (R * R) -> (option nat -> analyst) -> analyst.

Fixpoint honest (program : analyst) : Prop :=
  match program with
  | Stop => True
  | Ask rho l next => 0 <= rho /\ positive l /\ concentrated rho l /\ forall seen, honest (next seen)
  end.

(** What is seen under a limit: a release that does not fit is refused, and the analyst goes on. *)
Fixpoint seen (limit : R) (program : analyst) : list (R * R) :=
  match program with
  | Stop => [(1, 1)]
  | Ask rho l next =>
      if Rle_dec rho limit then joint l (fun i => seen (limit - rho) (next (Some i))) 0
      else seen limit (next None)
  end.

Lemma positive_seen : forall program limit, honest program -> positive (seen limit program).
Proof.
  induction program as [|rho l next IH]; intros limit fair; cbn [seen].
  - repeat constructor; cbn; lra.
  - destruct fair as (_ & pos & _ & fair). destruct (Rle_dec rho limit); [apply positive_joint|]; auto.
Qed.

(** Everything that an analyst sees under a limit is limit-zCDP, however she chooses. *)
Theorem the_filter_is_concentrated : forall program limit, 0 <= limit -> honest program ->
  concentrated limit (seen limit program).
Proof.
  induction program as [|rho l next IH]; intros limit room fair alpha big; cbn [seen].
  - cbn [moment]. unfold Rpower. rewrite ln_1, !Rmult_0_r, exp_0.
    replace (1 * 1 + 0) with (exp 0) by (rewrite exp_0; ring). destruct (Req_dec limit 0) as [->|more].
    + rewrite Rmult_0_r. lra.
    + left. apply exp_increasing. repeat apply Rmult_lt_0_compat; lra.
  - destruct fair as (pos_rho & pos & private & fair). destruct (Rle_dec rho limit) as [fits|]; [|apply IH; auto].
    apply Rle_trans with (moment alpha l * exp (alpha * (alpha - 1) * (limit - rho))).
    + apply moment_joint; auto; intros i; [apply positive_seen; auto | apply IH; auto; lra].
    + replace (alpha * (alpha - 1) * limit) with (alpha * (alpha - 1) * rho + alpha * (alpha - 1) * (limit - rho)) by ring.
      rewrite exp_plus. apply Rmult_le_compat_r; [left; apply exp_pos | apply private, big].
Qed.

(** Fair coins that are shown cost nothing, one or two. *)
Example coins_cost_nothing : concentrated (0 + 0) (joint [(/ 2, / 2); (/ 2, / 2)] (fun _ => [(/ 2, / 2); (/ 2, / 2)]) 0).
Proof.
  assert (half : 0 < / 2) by lra.
  assert (pos : positive [(/ 2, / 2); (/ 2, / 2)]) by (repeat constructor; cbn; lra).
  assert (coin : concentrated 0 [(/ 2, / 2); (/ 2, / 2)]).
  { intros alpha big. cbn [moment]. rewrite <- Rpower_plus. replace (alpha + (1 - alpha)) with 1 by ring.
    rewrite Rpower_1, Rmult_0_r, exp_0 by lra. lra. }
  apply concentrated_composition; auto.
Qed.
