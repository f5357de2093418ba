(** Blocks of accounting: many releases that are counted in ρ, and paid for as one (ε, δ)
    (src/privjail/budget/blocks.py). *)

From Coq Require Import Reals Lra List.
Import ListNotations.
Open Scope R_scope.

(** What an analyst asks in a block, on two neighbours. An answer has a chance p on the one and q on the other, and
    what is asked next may depend on it. [Ask rho answers]: one release that is charged rho. *)
Inductive talk : Type :=
| Stop
| Ask (rho : R) (answers : list (R * R * talk)).

Section Induction.
Context (P : talk -> Prop) (stop : P Stop)
  (ask : forall rho answers, (forall p q next, In (p, q, next) answers -> P next) -> P (Ask rho answers)).

Fixpoint talk_induction (t : talk) : P t :=
  match t with
  | Stop => stop
  | Ask rho answers => ask rho answers
      ((fix each l : forall p q next, In (p, q, next) l -> P next :=
          match l with
          | [] => fun _ _ _ there => match there with end
          | (p', q', next') :: rest => fun p q next there =>
              match there with
              | or_introl same => eq_ind next' P (talk_induction next') next (f_equal snd same)
              | or_intror more => each rest p q next more
              end
          end) answers)
  end.
End Induction.

(** Σ pᵃ q¹⁻ᵃ over all ways that the talk can go: e to the (a - 1) times the Rényi divergence of order a. *)
Definition power (a p q : R) : R := Rpower p a * Rpower q (1 - a).

Fixpoint moment (a : R) (t : talk) : R :=
  match t with
  | Stop => 1
  | Ask _ answers =>
      (fix each l := match l with
                     | [] => 0
                     | (p, q, next) :: rest => power a p q * moment a next + each rest
                     end) answers
  end.

Definition moments (a : R) : list (R * R * talk) -> R :=
  fix each l := match l with
                | [] => 0
                | (p, q, next) :: rest => power a p q * moment a next + each rest
                end.

(** The same of one release alone. *)
Fixpoint alone (a : R) (answers : list (R * R * talk)) : R :=
  match answers with
  | [] => 0
  | (p, q, _) :: rest => power a p q + alone a rest
  end.

(** The block's rule: a release is answered only while the sum of all ρ stays within the limit; each is ρ-zCDP, that is
    a divergence of at most a·ρ at the order a (Bun & Steinke 2016, definition 1.1). *)
Inductive InBlock (a : R) : R -> talk -> Prop :=
| In_block_stop : forall limit, 0 <= limit -> InBlock a limit Stop
| In_block_ask : forall limit rho answers, 0 <= rho -> rho <= limit ->
    alone a answers <= exp (a * (a - 1) * rho) ->
    (forall p q next, In (p, q, next) answers -> 0 < p /\ 0 < q /\ InBlock a (limit - rho) next) ->
    InBlock a limit (Ask rho answers).

Lemma power_positive : forall a p q, 0 < power a p q.
Proof. intros. unfold power. apply Rmult_lt_0_compat; apply exp_pos. Qed.

Lemma moments_bounded : forall a most answers, 0 <= most ->
  (forall p q next, In (p, q, next) answers -> moment a next <= most) -> moments a answers <= alone a answers * most.
Proof.
  intros a most answers pos. induction answers as [|[[p q] next] rest IH]; intros each; simpl; [lra|].
  specialize (IH (fun p q n there => each p q n (or_intror there))).
  pose proof (each p q next (or_introl eq_refl)) as here. pose proof (power_positive a p q) as pp.
  apply (Rmult_le_compat_l (power a p q)) in here; [|lra]. lra.
Qed.

(** Releases that are chosen by earlier answers, and stopped at a limit, have together at most that limit. *)
Theorem rho_adds_up_to_the_limit : forall a limit t, 1 < a -> InBlock a limit t ->
  moment a t <= exp (a * (a - 1) * limit).
Proof.
  intros a limit t order. revert limit.
  induction t as [|rho answers each] using talk_induction; intros limit within.
  - inversion within; subst. simpl. rewrite <- exp_0 at 1.
    assert (0 <= a * (a - 1) * limit) as pos by (apply Rmult_le_pos; [apply Rmult_le_pos|]; lra).
    destruct pos as [lt|<-]; [left; apply exp_increasing; exact lt | lra].
  - inversion within as [|l' rho' answers' pos less one later]; subst.
    assert (small : forall p q next, In (p, q, next) answers -> moment a next <= exp (a * (a - 1) * (limit - rho))).
    { intros p q next there. apply (each p q next there). apply (later p q next there). }
    change (moments a answers <= exp (a * (a - 1) * limit)).
    pose proof (moments_bounded a _ answers (Rlt_le _ _ (exp_pos _)) small) as sum.
    apply (Rmult_le_compat_r (exp (a * (a - 1) * (limit - rho)))) in one; [|left; apply exp_pos].
    rewrite <- exp_plus in one.
    replace (a * (a - 1) * rho + a * (a - 1) * (limit - rho)) with (a * (a - 1) * limit) in one by ring. lra.
Qed.

(** ** What a block is paid for

    [excess e P Q t]: the sum over all ways of max (0, P·p - e·Q·q), where p and q are the chances of the way. With
    P = Q = 1 and e = exp ε it is the δ that ε needs. *)
Fixpoint excess (e P Q : R) (t : talk) : R :=
  match t with
  | Stop => Rmax 0 (P - e * Q)
  | Ask _ answers =>
      (fix each l := match l with
                     | [] => 0
                     | (p, q, next) :: rest => excess e (P * p) (Q * q) next + each rest
                     end) answers
  end.

Inductive Positive : talk -> Prop :=
| Positive_stop : Positive Stop
| Positive_ask : forall rho answers,
    (forall p q next, In (p, q, next) answers -> 0 < p /\ 0 < q /\ Positive next) -> Positive (Ask rho answers).

Lemma one_way : forall a eps P Q, 1 < a -> 0 < P -> 0 < Q ->
  Rmax 0 (P - exp eps * Q) <= power a P Q * exp (- eps * (a - 1)).
Proof.
  intros a eps P Q order pp qq. pose proof (power_positive a P Q) as pos.
  pose proof (Rmult_lt_0_compat _ _ pos (exp_pos (- eps * (a - 1)))) as all.
  destruct (Rle_lt_dec P (exp eps * Q)) as [small|large].
  - rewrite Rmax_left; lra.
  - apply Rle_trans with P.
    { pose proof (Rmult_lt_0_compat _ _ (exp_pos eps) qq). apply Rmax_lub; lra. }
    unfold power, Rpower. rewrite <- !exp_plus. rewrite <- (exp_ln P pp) at 1.
    assert (eps + ln Q < ln P) as logs.
    { rewrite <- (ln_exp eps). rewrite <- ln_mult; auto using exp_pos. apply ln_increasing; auto.
      apply Rmult_lt_0_compat; auto using exp_pos. }
    assert (0 <= (a - 1) * (ln P - ln Q - eps)) as more by (apply Rmult_le_pos; lra).
    assert (ln P <= a * ln P + (1 - a) * ln Q + - eps * (a - 1)) as less by lra.
    destruct less as [lt|<-]; [left; apply exp_increasing; exact lt | lra].
Qed.

Lemma power_of_products : forall a P Q p q, 0 < P -> 0 < Q -> 0 < p -> 0 < q ->
  power a (P * p) (Q * q) = power a P Q * power a p q.
Proof.
  intros a P Q p q pp qq p0 q0. unfold power. rewrite <- !Rpower_mult_distr; auto. ring.
Qed.

Lemma excess_is_bounded : forall a eps, 1 < a -> forall t P Q, 0 < P -> 0 < Q -> Positive t ->
  excess (exp eps) P Q t <= power a P Q * moment a t * exp (- eps * (a - 1)).
Proof.
  intros a eps order t. induction t as [|rho answers each] using talk_induction; intros P Q pp qq chances.
  - simpl. rewrite Rmult_1_r. apply one_way; auto.
  - assert (all : forall p q next, In (p, q, next) answers -> 0 < p /\ 0 < q /\ Positive next)
      by (inversion chances; subst; assumption).
    clear chances. simpl. induction answers as [|[[p q] next] rest IH]; [lra|].
    specialize (IH (fun p q n there => each p q n (or_intror there)) (fun p q n there => all p q n (or_intror there))).
    destruct (all p q next (or_introl eq_refl)) as (p0 & q0 & later).
    pose proof (each p q next (or_introl eq_refl) (P * p) (Q * q) (Rmult_lt_0_compat _ _ pp p0)
                  (Rmult_lt_0_compat _ _ qq q0) later) as here.
    rewrite power_of_products in here; auto.
    rewrite Rmult_plus_distr_l, Rmult_plus_distr_r. apply Rplus_le_compat; [|exact IH].
    replace (power a P Q * (power a p q * moment a next)) with (power a P Q * power a p q * moment a next) by ring.
    exact here.
Qed.

(** ε = ρ + 2√(ρ ln 1/δ) (Bun & Steinke 2016, proposition 1.3): with s² = ln 1/δ and r² = ρ, ε = r² + 2·r·s. *)
Theorem a_block_of_rho_is_epsilon_delta : forall r s t, 0 < r -> 0 < s ->
  (forall a, 1 < a -> InBlock a (r * r) t) -> Positive t ->
  excess (exp (r * r + 2 * r * s)) 1 1 t <= exp (- (s * s)).
Proof.
  intros r s t rr ss within chances. set (a := 1 + s / r).
  assert (0 < s / r) as pos by (apply Rdiv_lt_0_compat; auto).
  assert (1 < a) as order by (unfold a; lra).
  pose proof (excess_is_bounded a (r * r + 2 * r * s) order t 1 1 Rlt_0_1 Rlt_0_1 chances) as less.
  assert (power a 1 1 = 1) as one.
  { unfold power, Rpower. rewrite ln_1, !Rmult_0_r, exp_0. ring. }
  rewrite one, Rmult_1_l in less.
  pose proof (rho_adds_up_to_the_limit a (r * r) t order (within a order)) as most.
  apply (Rmult_le_compat_r (exp (- (r * r + 2 * r * s) * (a - 1)))) in most; [|left; apply exp_pos].
  rewrite <- exp_plus in most.
  replace (a * (a - 1) * (r * r) + - (r * r + 2 * r * s) * (a - 1)) with (- (s * s)) in most
    by (unfold a; field; lra).
  lra.
Qed.
