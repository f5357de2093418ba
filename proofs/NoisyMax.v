(** Report noisy max: which of m numbers is largest, at ε and not at m·ε (src/privjail/mechanisms/noisy_max.py).

    The theorem at the end is laid beside the one of a development in Isabelle/HOL:

      definition DP_inequality :: "'a measure ⇒ 'a measure ⇒ real ⇒ real ⇒ bool" where
        "DP_inequality M N ε δ ≡ (∀ A ∈ sets M. (measure M A ≤ (exp ε) * measure N A + δ))"

      definition differential_privacy :: "('a rel) ⇒ real ⇒ real ⇒ bool" where
        "differential_privacy adj ε δ ≡ (∀ (d1,d2) ∈ adj.
          DP_inequality (M d1) (M d2) ε δ ∧ DP_inequality (M d2) (M d1) ε δ)"

      definition RMN_counting :: "real ⇒ nat list ⇒ nat measure" where
        "RMN_counting ε x = do {y ← Lap_dist_list (1 / ε) (counting_query x);
                                return (count_space UNIV) (argmax_list y)}"

      theorem differential_privacy_LapMech_RNM:
        assumes pose: "(ε::real) > 0"
        shows "differential_privacy (RMN_counting ε) adjacency_RNM_counting ε 0"

    Here [DP_inequality] and [differential_privacy] are those of Laws.v and [Lap_dist_list] is [laplace_list]: discrete
    Laplace noise of the same scale, on the grid of the counts. RealNoisyMax.v has the theorem with the real-valued noise
    of the Isabelle theorem, and NoisyMaxAsDrawn.v has it for the law that the library draws from. *)

From Coq Require Import Reals Lra Lia List ZArith Bool.
From Coquelicot Require Import Coquelicot.
From PrivJail Require Import Distance Rows Laws Laplace.
Import ListNotations.
Open Scope R_scope.

(** ** The position of the first largest element *)

Fixpoint argmax_list (y : list Z) : nat :=
  match y with
  | [] => 0
  | [_] => 0
  | first :: rest => if (nth (argmax_list rest) rest 0 <=? first)%Z then 0 else S (argmax_list rest)
  end.

(** Element [i] wins: no element is larger, and those before it are smaller. *)
Definition Wins (i : nat) (y : list Z) : Prop :=
  (i < length y)%nat /\
  forall j, (j < length y)%nat -> ((j < i)%nat -> (nth j y 0 < nth i y 0)%Z) /\ (nth j y 0 <= nth i y 0)%Z.

Lemma argmax_wins : forall y, y <> [] -> Wins (argmax_list y) y.
Proof.
  induction y as [|first rest IH]; [congruence|]. intros _. destruct rest as [|second rest].
  - split; [simpl; lia|]. intros [|j] inside; simpl in *; split; intros; try lia.
  - destruct IH as [inside best]; [congruence|]. remember (second :: rest) as others.
    replace (argmax_list (first :: others)) with
      (if (nth (argmax_list others) others 0 <=? first)%Z then 0%nat else S (argmax_list others)) by (subst; auto).
    destruct (Z.leb_spec (nth (argmax_list others) others 0%Z) first).
    + split; [simpl; lia|]. intros [|j] there; simpl in *; split; intros; try lia.
      destruct (best j) as [_ less]; lia.
    + split; [simpl; lia|]. intros [|j] there; simpl in *; split; intros; try lia.
      * destruct (best j) as [strict _]; [lia | apply strict; lia].
      * destruct (best j) as [_ less]; lia.
Qed.

Lemma one_winner : forall i k y, Wins i y -> Wins k y -> i = k.
Proof.
  intros i k y [ini besti] [ink bestk]. destruct (lt_eq_lt_dec i k) as [[less|]|less]; auto; exfalso.
  - destruct (bestk i ini) as [strict _]. destruct (besti k ink) as [_ most]. specialize (strict less). lia.
  - destruct (besti k ink) as [strict _]. destruct (bestk i ini) as [_ most]. specialize (strict less). lia.
Qed.

Fixpoint add (q z : list Z) : list Z :=
  match q, z with a :: q', b :: z' => (a + b)%Z :: add q' z' | _, _ => [] end.

(** [s] is added to element [i]. *)
Fixpoint bump (i : nat) (s : Z) (z : list Z) : list Z :=
  match z, i with
  | [], _ => []
  | a :: z', O => (a + s)%Z :: z'
  | a :: z', S i' => a :: bump i' s z'
  end.

Lemma add_length : forall q z, length q = length z -> length (add q z) = length z.
Proof. induction q; intros [|b z] same; simpl in *; try discriminate; auto. Qed.

Lemma nth_add : forall q z j, length q = length z -> nth j (add q z) 0%Z = (nth j q 0 + nth j z 0)%Z.
Proof. induction q; intros [|b z] [|j] same; simpl in *; try discriminate; auto. Qed.

Lemma bump_length : forall z i s, length (bump i s z) = length z.
Proof. induction z; intros [|i] s; simpl; auto. Qed.

Lemma nth_bump : forall z i s j, (i < length z)%nat ->
  nth j (bump i s z) 0%Z = (nth j z 0 + if Nat.eqb j i then s else 0)%Z.
Proof.
  induction z as [|a z IH]; intros i s j inside; simpl in inside; [lia|].
  destruct i as [|i], j as [|j]; simpl; try lia. rewrite IH by lia. reflexivity.
Qed.

(** If element [i] wins on the scores [q], then it wins on [q'] as soon as its own noise is [s] larger, provided that no
    other score gained more than [s] on it. *)
Lemma coupling : forall q q' z i s, length q = length z -> length q' = length z -> (0 <= s)%Z ->
  (forall j, (nth j q' 0 - nth j q 0 <= s + (nth i q' 0 - nth i q 0))%Z) ->
  Wins i (add q z) -> Wins i (add q' (bump i s z)).
Proof.
  intros q q' z i s len len' pos gains [inside best].
  rewrite add_length in inside by auto.
  split; [rewrite add_length; rewrite ?bump_length; auto|].
  intros j there. rewrite add_length, bump_length in there by (rewrite bump_length; auto).
  destruct (best j) as [strict most]; [rewrite add_length; auto|].
  rewrite !nth_add in * by (rewrite ?bump_length; auto). rewrite !nth_bump by auto.
  rewrite Nat.eqb_refl. specialize (gains j). destruct (Nat.eqb_spec j i) as [->|]; split; intros; try lia.
Qed.

(** ** Independent noises, one for each element *)

Fixpoint noise_list (noises : list (law Z)) : law (list Z) :=
  match noises with
  | [] => ret []
  | M :: rest => bind M (fun z => bind (noise_list rest) (fun zs => ret (z :: zs)))
  end.

Lemma bounded_rest : forall (M : law (list Z)) f, Bounded f -> Bounded (fun z : Z => E M (fun zs => f (z :: zs))).
Proof.
  intros M f [c bound]. apply (bounded_E Z (list Z) (fun _ => M) (fun z zs => f (z :: zs)) c). auto.
Qed.
#[local] Hint Resolve bounded_rest : laws.

Lemma noise_list_monotone : forall noises f g, Bounded f -> Bounded g ->
  (forall zs, length zs = length noises -> f zs <= g zs) -> E (noise_list noises) f <= E (noise_list noises) g.
Proof.
  induction noises as [|M rest IH]; intros f g bf bg less; simpl; [apply less; auto|].
  apply E_monotone; auto with laws. intros z. apply (IH (fun zs => f (z :: zs)) (fun zs => g (z :: zs))); auto with laws.
  intros zs len. apply less. simpl. lia.
Qed.

(** Moving the noise of one element, whatever the others are. *)
Lemma bump_one : forall noises i b M s f, nth_error noises i = Some M -> Shifts b M ->
  Bounded f -> (forall zs, 0 <= f zs) ->
  E (noise_list noises) (fun zs => f (bump i s zs)) <= exp (IZR (Z.abs s) / b) * E (noise_list noises) f.
Proof.
  induction noises as [|N rest IH]; intros i b M s f is shifts bf pos; [destruct i; discriminate|].
  assert (inner : forall z, 0 <= E (noise_list rest) (fun zs => f (z :: zs)))
    by (intros; apply E_not_negative; auto with laws).
  destruct i as [|i]; simpl in is |- *.
  - injection is as ->. apply (shifts s (fun z => E (noise_list rest) (fun zs => f (z :: zs)))); auto with laws.
  - rewrite <- E_scale by auto with laws. apply E_monotone; auto with laws.
    + apply (bounded_rest (noise_list rest) (fun zs => f (bump (S i) s zs))). auto with laws.
    + intros z. apply (IH i b M s (fun zs => f (z :: zs))); auto with laws.
Qed.

(** ** Report noisy max, for any noise that moves at rate 1/b *)

Definition noisy_max (noise : law Z) (q : list Z) : law nat :=
  bind (noise_list (repeat noise (length q))) (fun z => ret (argmax_list (add q z))).

Fixpoint sum_to (m : nat) (h : nat -> R) : R := match m with O => 0 | S m' => sum_to m' h + h m' end.

Lemma E_sum_to : forall (A : Type) (M : law A) (h : nat -> A -> R) m, (forall i, Bounded (h i)) ->
  Bounded (fun a => sum_to m (fun i => h i a)) /\
  E M (fun a => sum_to m (fun i => h i a)) = sum_to m (fun i => E M (h i)).
Proof.
  intros A M h m bounded. induction m as [|m [bm same]]; simpl.
  - split; [auto with laws | apply E_constant].
  - split; [auto with laws|]. rewrite E_plus by auto. rewrite same. reflexivity.
Qed.

Lemma sum_to_picks : forall m k c, sum_to m (fun i => if Nat.eqb k i then c else 0) = if (k <? m)%nat then c else 0.
Proof.
  induction m as [|m IH]; intros k c; simpl; auto. rewrite IH.
  destruct (Nat.ltb_spec k m), (Nat.eqb_spec k m), (Nat.ltb_spec k (S m)); try lia; lra.
Qed.

Lemma sum_to_less : forall m f g c, (forall i, (i < m)%nat -> f i <= c * g i) -> sum_to m f <= c * sum_to m g.
Proof.
  induction m as [|m IH]; intros f g c less; simpl; [lra|].
  specialize (IH f g c (fun i lt => less i (Nat.lt_lt_succ_r _ _ lt))). specialize (less m (Nat.lt_succ_diag_r m)). lra.
Qed.

(** Where no score gains more than [s] on another, the law of the winner moves by a factor of at most e^(s/b). The number
    of scores does not matter. *)
Theorem noisy_max_for_any_noise : forall (b : R) (noise : law Z) q q' (s : Z), 0 < b -> Shifts b noise ->
  length q = length q' -> (0 <= s)%Z -> (forall i j, (nth j q' 0 - nth j q 0 <= s + (nth i q' 0 - nth i q 0))%Z) ->
  DP_inequality (noisy_max noise q) (noisy_max noise q') (IZR s / b) 0.
Proof.
  intros b noise q q' s bpos shifts len spos gains S. unfold measure, noisy_max. simpl. rewrite Rplus_0_r, <- len.
  set (m := length q). set (M := noise_list (repeat noise m)).
  set (won := fun (p : list Z) (i : nat) (z : list Z) =>
    if Nat.eqb (argmax_list (add p z)) i then (if S i then 1 else 0) else 0).
  assert (range : forall p i z, 0 <= won p i z <= 1)
    by (intros; unfold won; destruct (Nat.eqb _ i), (S i); lra).
  assert (bounded : forall p i, Bounded (won p i)) by (intros; apply (bounded_between _ 1); auto).
  assert (zlen : forall zs : list Z, length zs = length (repeat noise m) -> length zs = m)
    by (intros zs; rewrite repeat_length; auto).
  destruct q as [|q0 qs] eqn:some.
  { destruct q'; [|discriminate]. simpl in m. subst m M. simpl.
    assert (1 <= exp (IZR s / b)).
    { rewrite <- exp_0. destruct (Rle_lt_or_eq_dec 0 (IZR s / b)) as [less| <-]; try lra.
      - apply Rmult_le_pos; [apply (IZR_le 0); auto | left; apply Rinv_0_lt_compat; auto].
      - left. apply exp_increasing; auto. }
    pose proof (indicator_between S 0%nat). nra. }
  assert (split : forall p, length p = m ->
    E M (fun z => indicator S (argmax_list (add p z))) = sum_to m (fun i => E M (won p i))).
  { intros p plen. destruct (E_sum_to _ M (won p) m (bounded p)) as [bsum <-].
    assert (eq : forall zs, length zs = length (repeat noise m) ->
      indicator S (argmax_list (add p zs)) = sum_to m (fun i => won p i zs)).
    { intros zs zl. apply zlen in zl.
      transitivity (sum_to m (fun i => if Nat.eqb (argmax_list (add p zs)) i
        then indicator S (argmax_list (add p zs)) else 0)).
      - rewrite sum_to_picks. destruct (argmax_wins (add p zs)) as [inside _].
        + intros empty. apply (f_equal (@length Z)) in empty. rewrite add_length in empty by lia. simpl in *. lia.
        + rewrite add_length in inside by lia. destruct (Nat.ltb_spec (argmax_list (add p zs)) m); auto; lia.
      - clear. induction m as [|n IH]; simpl; auto. rewrite IH. f_equal. unfold won, indicator.
        destruct (Nat.eqb_spec (argmax_list (add p zs)) n) as [->|]; auto. }
    assert (bi : Bounded (fun z => indicator S (argmax_list (add p z)))) by auto with laws.
    apply Rle_antisym; apply noise_list_monotone; auto; intros zs zl; rewrite (eq zs zl); lra. }
  change (E M (fun z => indicator S (argmax_list (add (q0 :: qs) z))) <=
    exp (IZR s / b) * E M (fun z => indicator S (argmax_list (add q' z)))).
  rewrite !split by auto. apply sum_to_less. intros i inside.
  apply Rle_trans with (E M (fun z => won q' i (bump i s z))).
  - apply noise_list_monotone; auto with laws. intros zs zl. apply zlen in zl. unfold won.
    assert (nonempty : forall p, length p = length zs -> add p zs <> []).
    { intros p plen empty. apply (f_equal (@length Z)) in empty. rewrite add_length in empty by auto. simpl in *. lia. }
    destruct (Nat.eqb_spec (argmax_list (add (q0 :: qs) zs)) i) as [wins|];
      [|destruct (Nat.eqb _ i), (S i); lra].
    assert (Wins i (add q' (bump i s zs))) as again.
    { apply (coupling (q0 :: qs)); auto; [transitivity m; auto|]. rewrite <- wins. apply argmax_wins, nonempty; auto. }
    replace (Nat.eqb (argmax_list (add q' (bump i s zs))) i) with true; [lra|]. symmetry. apply Nat.eqb_eq.
    apply (one_winner _ _ (add q' (bump i s zs))); auto. apply argmax_wins. intros empty.
    destruct again as [again _]. rewrite empty in again. simpl in again. lia.
  - pose proof (bump_one (repeat noise m) i b noise s (won q' i)) as moved. rewrite Z.abs_eq in moved by auto.
    apply moved; auto; [|intros; apply range]. apply nth_error_repeat. auto.
Qed.

(** Scores that move by at most [d] in any direction: s = 2d. *)
Corollary noisy_max_of_scores : forall (b : posreal) q q' (d : Z), length q = length q' -> (0 <= d)%Z ->
  (forall j, (Z.abs (nth j q 0 - nth j q' 0) <= d)%Z) ->
  DP_inequality (noisy_max (laplace_noise b) q) (noisy_max (laplace_noise b) q') (IZR (2 * d) / b) 0.
Proof.
  intros b q q' d len pos near. apply noisy_max_for_any_noise; auto; try lia; [apply cond_pos | apply laplace_noise_shifts|].
  intros i j. pose proof (near i). pose proof (near j). lia.
Qed.

(** ** Report noisy max over counting queries is (ε, 0)-differentially private, whatever their number *)

Section Counting.
Context {A : Type} (queries : list (A -> bool)).

(** How many rows of the data set answer each query with yes. *)
Definition counting_query (x : list A) : list Z := map (fun p => Z.of_nat (length (filter p x))) queries.

(** Data sets of which one has one row more than the other. *)
Definition adjacency_RNM_counting (x y : list A) : Prop := Within 1 0 x y \/ Within 0 1 x y.

Definition RNM_counting (eps : posreal) (x : list A) : law nat :=
  bind (laplace_list (mkposreal (/ eps) (Rinv_0_lt_compat eps (cond_pos eps))) (counting_query x))
       (fun y => ret (argmax_list y)).

Lemma laplace_list_is_noise : forall (b : posreal) q f, Bounded f ->
  E (laplace_list b q) f = E (noise_list (repeat (laplace_noise b) (length q))) (fun z => f (add q z)).
Proof.
  induction q as [|x q IH]; intros f bf; simpl; auto.
  apply (E_same (laplace_noise b)).
  - apply (bounded_after Z (fun z => (x + z)%Z) (fun z => E (laplace_list b q) (fun zs => f (z :: zs)))). auto with laws.
  - intros z. apply (IH (fun zs => f ((x + z)%Z :: zs))). auto with laws.
Qed.

(* mechanism: NoisyMax *)
Theorem differential_privacy_LapMech_RNM : forall eps : posreal,
  differential_privacy (RNM_counting eps) adjacency_RNM_counting eps 0.
Proof.
  intros eps. assert (one_way : forall x y, adjacency_RNM_counting x y ->
    DP_inequality (RNM_counting eps x) (RNM_counting eps y) eps 0).
  { intros x y near S. unfold measure, RNM_counting. simpl. rewrite !laplace_list_is_noise by auto with laws.
    set (b := mkposreal (/ eps) (Rinv_0_lt_compat eps (cond_pos eps))).
    replace (pos eps) with (IZR 1 / b) by (simpl; unfold Rdiv; rewrite Rinv_inv; ring).
    apply (noisy_max_for_any_noise b (laplace_noise b) (counting_query x) (counting_query y) 1); try lia.
    - apply cond_pos.
    - apply laplace_noise_shifts.
    - unfold counting_query. rewrite !map_length. reflexivity.
    - assert (moves : (forall p, (length (filter p x) <= length (filter p y) <= 1 + length (filter p x))%nat) \/
                      (forall p, (length (filter p y) <= length (filter p x) <= 1 + length (filter p y))%nat)).
      { destruct near as [(ins & del & s & few & none)|(ins & del & s & none & few)]; [left | right]; intros p;
        apply (Rows.filter_keeps_the_distance A p), script_length in s;
        pose proof (Rows.filter_shortens A p ins); pose proof (Rows.filter_shortens A p del); lia. }
      assert (each : forall z j, nth j (counting_query z) 0%Z =
        match nth_error queries j with Some p => Z.of_nat (length (filter p z)) | None => 0%Z end).
      { intros z. unfold counting_query. induction queries as [|p ps IH]; intros [|j]; simpl; auto. }
      intros i j. rewrite !each. destruct moves as [moves|moves];
        destruct (nth_error queries i) as [p|]; destruct (nth_error queries j) as [p'|];
        try pose proof (moves p); try pose proof (moves p'); lia. }
  intros x y near. split; apply one_way; auto. destruct near as [near|near]; [right | left]; apply within_swap; auto.
Qed.
End Counting.
