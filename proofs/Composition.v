(** Many releases together, with real probabilities: parallel composition, and everything that an analyst sees
    (src/privjail/budget/ledger.py, src/privjail/release.py). *)

From Coq Require Import Reals Lra Lia List QArith Qreals.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Distance Rows Cells Budget Laws Laplace.
Import ListNotations.
Open Scope R_scope.

(** ** Parallel composition

    One answer for each group. Each mechanism loses at most [eps] for each edit of its own group. Then all answers
    together lose at most [eps] for each edit of the table, however many groups there are. *)
Section Parallel.
Context {A K B : Type} (same : forall x y : K, {x = y} + {x <> y}) (key : A -> K) (M : K -> list A -> law B).

Fixpoint all_groups (keys : list K) (l : list A) : law (list B) :=
  match keys with
  | [] => ret []
  | k :: rest => bind (M k (group same key k l)) (fun b => bind (all_groups rest l) (fun bs => ret (b :: bs)))
  end.

Theorem parallel_composition : forall eps keys n l r, 0 <= eps -> NoDup keys ->
  (forall k m x y, Apart m x y -> DP_inequality (M k x) (M k y) (INR m * eps) 0) ->
  Apart n l r -> DP_inequality (all_groups keys l) (all_groups keys r) (INR n * eps) 0.
Proof.
  intros eps keys n l r pos distinct private (ins & del & s & few).
  destruct (groups_share_the_edits A K same key keys ins del l r distinct s) as (each & sum & near).
  apply (promising_less _ _ _ (INR (Rows.total (map each keys)) * eps) 0); try lra.
  - apply Rmult_le_compat_r; auto. apply le_INR. lia.
  - apply factor_is_pure_privacy. clear distinct sum few. induction keys as [|k keys IH]; simpl.
    + apply (factor_more _ _ _ 1); [|apply factor_same]. rewrite Rmult_0_l, exp_0. lra.
    + rewrite plus_INR, Rmult_plus_distr_r, exp_plus. apply factor_bind; [left; apply exp_pos | |].
      * apply factor_is_pure_privacy, private, near.
      * intros b. rewrite <- (Rmult_1_r (exp (INR (Rows.total (map each keys)) * eps))).
        apply factor_bind; [lra | exact IH |]. intros bs. apply factor_same.
Qed.
End Parallel.

(** ** Everything that an analyst sees

    An analyst asks for one release after another; what is asked next may depend on all answers and refusals so far. The
    ledger answers what fits under the limit, and refuses the rest. *)
Section Analyst.
Context {D answer P K : Type} (same_p : forall x y : P, {x = y} + {x <> y}) (same_k : forall x y : K, {x = y} + {x <> y}).
Notation form := (list (list (P * K) * Q)).

(** A release has charges of ε and charges of δ, each at some cells. *)
Inductive analyst : Type :=
| Stop : analyst
| Ask : (D -> law answer) -> form -> form -> (option answer -> analyst) -> analyst.

Definition over (limit : Q) (charges : form) : bool :=
  if Qlt_le_dec limit (ledger_cost same_p same_k charges) then true else false.

Section Limits.
Context (limit limit_delta : Q).

Fixpoint seen (spent spent_delta : form) (program : analyst) (data : D) : law (list (option answer)) :=
  match program with
  | Stop => ret []
  | Ask mechanism charges deltas next =>
      if (over limit (spent ++ charges) || over limit_delta (spent_delta ++ deltas))%bool
      then bind (seen spent spent_delta (next None) data) (fun rest => ret (None :: rest))
      else bind (mechanism data) (fun o =>
             bind (seen (spent ++ charges) (spent_delta ++ deltas) (next (Some o)) data)
                  (fun rest => ret (Some o :: rest)))
  end.

(** Every release loses at most its charges, each times the share of its cell. *)
Inductive Charged (eta : list (P * K) -> Q) (d d' : D) : analyst -> Prop :=
| Charged_stop : Charged eta d d' Stop
| Charged_ask : forall mechanism charges deltas next, NotNegative charges -> NotNegative deltas ->
    DP_inequality (mechanism d) (mechanism d') (Q2R (value eta charges)) (Q2R (value eta deltas)) ->
    (forall o, Charged eta d d' (next o)) -> Charged eta d d' (Ask mechanism charges deltas next).

Lemma not_over : forall most charges, over most charges = false -> (ledger_cost same_p same_k charges <= most)%Q.
Proof.
  intros most charges. unfold over.
  match goal with |- context [Qlt_le_dec ?a ?b] => destruct (Qlt_le_dec a b); auto; discriminate end.
Qed.

Lemma room : forall eta most spent, Shares eta -> NotNegative spent -> (ledger_cost same_p same_k spent <= most)%Q ->
  0 <= Q2R most - Q2R (value eta spent).
Proof.
  intros eta most spent shares ok under.
  assert (value eta spent <= most)%Q as less.
  { eapply Qle_trans; [apply (cost_is_never_exceeded same_p same_k (depth spent)); auto|exact under].
    apply depth_is_enough. }
  apply Qle_Rle in less. lra.
Qed.

Lemma value_of_both : forall eta (a c : form), Q2R (value eta (a ++ c)) = Q2R (value eta a) + Q2R (value eta c).
Proof.
  intros eta a c. rewrite <- Q2R_plus. apply Qeq_eqR. apply (sum_app (fun '(x, q) => (q * eta x)%Q) a c).
Qed.

Lemma not_negative_both : forall a c : form, NotNegative a -> NotNegative c -> NotNegative (a ++ c).
Proof. intros a c pa pc x q there. apply in_app_or in there as [|]; [eapply pa | eapply pc]; eauto. Qed.

Lemma what_is_left : forall eta d d', Shares eta -> forall program, Charged eta d d' program ->
  forall spent spent_delta, NotNegative spent -> NotNegative spent_delta ->
  (ledger_cost same_p same_k spent <= limit)%Q -> (ledger_cost same_p same_k spent_delta <= limit_delta)%Q ->
  DP_inequality (seen spent spent_delta program d) (seen spent spent_delta program d')
    (Q2R limit - Q2R (value eta spent)) (Q2R limit_delta - Q2R (value eta spent_delta)).
Proof.
  intros eta d d' shares program fine. induction fine as [|mechanism charges deltas next pos pos' private rest IH];
    intros spent spent_delta ok ok' under under'; cbn [seen].
  - apply (promising_less _ _ _ 0 0); [apply room; auto | apply room; auto | apply same_law].
  - match goal with |- context [if ?test then _ else _] => destruct test eqn:fits end.
    + apply post_processing. apply IH; auto.
    + apply Bool.orb_false_iff in fits as [fits fits']. apply not_over in fits, fits'.
      replace (Q2R limit - Q2R (value eta spent))
        with (Q2R (value eta charges) + (Q2R limit - Q2R (value eta (spent ++ charges))))
        by (assert (e : Q2R (value eta (spent ++ charges)) = Q2R (value eta spent) + Q2R (value eta charges))
              by apply value_of_both; lra).
      replace (Q2R limit_delta - Q2R (value eta spent_delta))
        with (Q2R (value eta deltas) + (Q2R limit_delta - Q2R (value eta (spent_delta ++ deltas))))
        by (assert (e : Q2R (value eta (spent_delta ++ deltas)) = Q2R (value eta spent_delta) + Q2R (value eta deltas))
              by apply value_of_both; lra).
      apply bind_composition; auto.
      * apply room; auto using not_negative_both.
      * intros o. apply post_processing. apply IH; auto using not_negative_both.
Qed.

(** Whatever the analyst asks, all that she sees is (ε, δ)-differentially private, with the limits as ε and δ. *)
Theorem everything_seen_is_private : forall eta d d' program, Shares eta -> (0 <= limit)%Q -> (0 <= limit_delta)%Q ->
  Charged eta d d' program ->
  DP_inequality (seen [] [] program d) (seen [] [] program d') (Q2R limit) (Q2R limit_delta).
Proof.
  intros eta d d' program shares pos pos' fine.
  assert (nothing : Q2R (value eta []) = 0) by (unfold value, Q2R; simpl; lra).
  replace (Q2R limit) with (Q2R limit - Q2R (value eta [])) by lra.
  replace (Q2R limit_delta) with (Q2R limit_delta - Q2R (value eta [])) by lra.
  apply what_is_left; auto; intros a c [].
Qed.
End Limits.
End Analyst.

(** The instance for real probabilities of the ledger in Budget.v: p ≤ eᵃ·q. *)
Definition NearReal (a : Q) (p q : R) : Prop := 0 <= p /\ 0 <= q /\ p <= exp (Q2R a) * q.

Theorem real_probabilities_are_chances :
  NearReal 0 1 1 /\
  (forall a b p q p' q', NearReal a p q -> NearReal b p' q' -> NearReal (a + b) (p * p') (q * q')) /\
  (forall a b p q, (a <= b)%Q -> NearReal a p q -> NearReal b p q).
Proof.
  unfold NearReal. split; [|split].
  - rewrite RMicromega.Q2R_0, exp_0. lra.
  - intros a b p q p' q' (p0 & q0 & pq) (p0' & q0' & pq'). rewrite Q2R_plus, exp_plus.
    repeat split; try (apply Rmult_le_pos; auto).
    replace (exp (Q2R a) * exp (Q2R b) * (q * q')) with ((exp (Q2R a) * q) * (exp (Q2R b) * q')) by ring.
    apply Rmult_le_compat; auto.
  - intros a b p q less (p0 & q0 & pq). repeat split; auto. apply Qle_Rle in less.
    assert (exp (Q2R a) <= exp (Q2R b)) by (destruct less as [lt| ->]; [left; apply exp_increasing; auto | lra]).
    pose proof (Rmult_le_compat_r q _ _ q0 H). lra.
Qed.
