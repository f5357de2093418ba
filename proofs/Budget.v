(** The ledger: what releases cost together (src/privjail/budget/ledger.py, plan/cells.py, release.py).

    A charge is a coefficient at a cell; all charges together are a form over cells, and its [cost] is what the ledger
    compares with the limit. Proved here: where the shares come from, where a release is charged, that the cost bounds the
    joint loss of releases that are chosen one after another, and that nothing over the limit is answered. *)

From Coq Require Import List QArith Qminmax Lqa Lia ZArith Bool.
From PrivJail Require Import Distance Rows Cells.
Import ListNotations.
Open Scope Q_scope.

Section Budget.
Context {P K : Type} (same_p : forall x y : P, {x = y} + {x <> y}) (same_k : forall x y : K, {x = y} + {x <> y}).
Notation address := (list (P * K)).
Notation form := (list (list (P * K) * Q)).
Notation at_key := (at_key same_k).
Notation inside := (inside same_p).

(** The cost of a form of any depth. *)
Definition depth (cs : form) : nat := fold_right (fun '(a, _) n => max (length a) n) 0%nat cs.
Definition ledger_cost (cs : form) : Q := cost same_p same_k (depth cs) cs.

Lemma depth_is_enough : forall cs, Depth (depth cs) cs.
Proof.
  intros cs a c there. induction cs as [|[b x] cs IH]; simpl in *; [tauto|].
  destruct there as [e|there]; [injection e as -> ->; lia | specialize (IH there); lia].
Qed.

(** ** Where the shares come from

    Take the rows that a script inserts and deletes, at most [most] of them. The share of a cell is the part of them that
    lies in the cell. [key g row] is the value of the partition [g] in a row. *)
Section Shares.
Context {A : Type} (key : P -> A -> K) (edited : list A) (most : nat).
Hypothesis some : (0 < most)%nat.
Hypothesis bound : (length edited <= most)%nat.

Definition in_cell (a : address) (row : A) : bool :=
  forallb (fun '(g, k) => if same_k (key g row) k then true else false) a.

Definition share (a : address) : Q :=
  inject_Z (Z.of_nat (length (filter (in_cell a) edited))) / inject_Z (Z.of_nat most).

Lemma fractions_of : forall n m : nat, (n <= m)%nat ->
  inject_Z (Z.of_nat n) / inject_Z (Z.of_nat most) <= inject_Z (Z.of_nat m) / inject_Z (Z.of_nat most).
Proof.
  intros n m less. unfold Qdiv. apply Qmult_le_compat_r.
  - rewrite <- Zle_Qle. lia.
  - apply Qinv_le_0_compat. rewrite <- (Zle_Qle 0). lia.
Qed.

Lemma sum_of_fractions : forall (X : Type) (f : X -> nat) l,
  sum_over (fun x => inject_Z (Z.of_nat (f x)) / inject_Z (Z.of_nat most)) l ==
  inject_Z (Z.of_nat (Rows.total (map f l))) / inject_Z (Z.of_nat most).
Proof.
  intros X f l. unfold Qdiv. induction l as [|x l IH]; simpl.
  - reflexivity.
  - rewrite IH, Nat2Z.inj_add, inject_Z_plus. ring.
Qed.

Theorem shares_of_a_script : Shares share.
Proof.
  split; [split|].
  - intros a. unfold share, Qdiv. apply Qmult_le_0_compat; [|apply Qinv_le_0_compat]; rewrite <- (Zle_Qle 0); lia.
  - intros a g ks distinct. unfold share at 1. rewrite sum_of_fractions. apply fractions_of.
    etransitivity; [|apply (groups_share_rows A K same_k (key g) ks (filter (in_cell a) edited) distinct)].
    apply Nat.eq_le_incl. f_equal. apply map_ext. intros k. f_equal. unfold group. clear.
    induction edited as [|x l IH]; simpl; auto. unfold in_cell in *. rewrite forallb_app. simpl. rewrite andb_true_r.
    destruct (forallb _ a); simpl; rewrite IH; auto.
  - unfold share. simpl. apply Qle_trans with (inject_Z (Z.of_nat most) / inject_Z (Z.of_nat most)).
    + apply fractions_of. etransitivity; [apply filter_shortens | exact bound].
    + unfold Qdiv. rewrite Qmult_inv_r; [lra|]. change 0 with (inject_Z 0). rewrite inject_Z_injective. lia.
Qed.
End Shares.

(** ** Where a release is charged *)

(** A cell has at most the share of every cell above it. *)
Lemma ancestors_have_more : forall eta, Below eta -> forall b a : address, eta (a ++ b) <= eta a.
Proof.
  intros eta shares b. induction b as [|[g k] b IH]; intros a; [rewrite app_nil_r; lra|].
  replace (a ++ (g, k) :: b) with ((a ++ [(g, k)]) ++ b) by (rewrite <- app_assoc; auto).
  eapply Qle_trans; [apply IH|].
  pose proof (children_share_their_parents eta shares a g [k]) as one. simpl in one.
  assert (NoDup [k]) by (repeat constructor; auto). specialize (one H). lra.
Qed.

(** [charged] of plan/cells.py. Cells that all exclude each other inside one partition are charged each; where two of
    them do not, or one lies above the others, their lowest common ancestor is charged instead. *)
Definition first_step (a : address) : option ((P * K) * address) :=
  match a with [] => None | s :: a' => Some (s, a') end.
Definition same_step : forall x y : P * K, {x = y} + {x <> y}.
Proof. decide equality. Defined.
Definition first_steps (cells : list address) : list (P * K) := classes same_step first_step cells.
Definition under (s : P * K) (cells : list address) : list address := members same_step first_step s cells.
Definition whole (a : address) : bool := match a with [] => true | _ => false end.
Definition one_partition (steps : list (P * K)) : bool :=
  match nodup same_p (map fst steps) with [] | [_] => true | _ => false end.

Fixpoint charged (n : nat) (cells : list address) : list address :=
  match n with
  | O => [[]]
  | S n' =>
      if existsb whole cells || negb (one_partition (first_steps cells)) then [[]]
      else flat_map (fun s => map (cons s) (charged n' (under s cells))) (first_steps cells)
  end.

(** Every touched cell is one of the charged cells, or lies below one. *)
Theorem every_cell_is_charged : forall n cells a, In a cells -> exists c b, In c (charged n cells) /\ a = c ++ b.
Proof.
  induction n as [|n IH]; intros cells a there; simpl.
  - exists [], a. auto.
  - destruct (existsb whole cells || negb (one_partition (first_steps cells))) eqn:up; [exists [], a; simpl; auto|].
    destruct a as [|s a].
    + apply orb_false_iff in up as [up _]. exfalso. assert (existsb whole cells = true); [|congruence].
      apply existsb_exists. exists []. auto.
    + assert (In a (under s cells)) as below by (apply in_members; exists (s :: a); auto).
      destruct (IH _ _ below) as (c & b & found & ->). exists (s :: c), b. split; auto.
      apply in_flat_map. exists s. split; [|apply in_map; auto]. eapply in_classes; [exact there | reflexivity].
Qed.

(** The part of a form at a cell and below it. *)
Fixpoint strip (c : address) (cs : form) : form :=
  match c with [] => cs | (g, k) :: c' => strip c' (at_key k (inside g cs)) end.

Lemma one_term_is_less : forall (X : Type) (f : X -> Q) l x, (forall y, In y l -> 0 <= f y) -> In x l ->
  f x <= sum_over f l.
Proof.
  induction l as [|y l IH]; simpl; intros x pos []; subst.
  - pose proof (sum_nonnegative f l (fun z there => pos z (or_intror there))). lra.
  - pose proof (pos y (or_introl eq_refl)). specialize (IH x (fun z there => pos z (or_intror there)) H). lra.
Qed.

Lemma cost_below : forall n g k cs, NotNegative cs ->
  cost same_p same_k n (at_key k (inside g cs)) <= cost same_p same_k (S n) cs.
Proof.
  intros n g k cs pos. destruct (at_key k (inside g cs)) as [|[a c] rest] eqn:is.
  - apply Qle_trans with 0; [destruct n; simpl; lra | apply cost_is_not_negative; auto].
  - assert (there : In (a, c) (at_key k (inside g cs))) by (rewrite is; left; auto). rewrite <- is.
    apply in_at_key in there. simpl.
    assert (0 <= own cs).
    { apply sum_nonnegative. intros [[|s b] x] inside'; [eapply pos; eauto | lra]. }
    assert (g_there : In g (partitions same_p cs)) by (eapply in_classes; [exact there | reflexivity]).
    assert (k_there : In k (keys same_k (inside g cs))).
    { eapply in_classes with (x := (k, (a, c))); [|reflexivity]. apply in_members. eexists; split; [exact there | auto]. }
    pose proof (max_is_above (fun k => cost same_p same_k n (at_key k (inside g cs))) _ k k_there) as first.
    pose proof (one_term_is_less P (fun g => max_over (fun k => cost same_p same_k n (at_key k (inside g cs)))
      (keys same_k (inside g cs))) (partitions same_p cs) g ltac:(intros; apply max_nonnegative) g_there) as second.
    simpl in first, second. lra.
Qed.

Lemma cost_of_a_part : forall c n cs, NotNegative cs -> Depth (length c + n) cs ->
  NotNegative (strip c cs) /\ Depth n (strip c cs) /\
  cost same_p same_k n (strip c cs) <= cost same_p same_k (length c + n) cs.
Proof.
  induction c as [|[g k] c IH]; intros n cs pos deep; simpl; [repeat split; auto; lra|].
  destruct (IH n (at_key k (inside g cs))) as (? & ? & ?); auto using not_negative_below.
  - apply depth_below. exact deep.
  - repeat split; auto. eapply Qle_trans; [eassumption | apply cost_below; auto].
Qed.

Lemma strip_nil : forall c, strip c [] = [].
Proof. induction c as [|[g k] c IH]; auto. Qed.

Lemma strip_cons : forall c a x cs,
  strip c ((a, x) :: cs) = strip c cs \/ exists b, a = c ++ b /\ strip c ((a, x) :: cs) = (b, x) :: strip c cs.
Proof.
  induction c as [|[g k] c IH]; intros a x cs; [right; exists a; auto|].
  destruct a as [|[g' k'] a]; [left; auto|]. simpl. unfold Cells.at_key, Cells.inside. simpl.
  destruct (same_p g' g) as [->|]; [|left; auto]. simpl. destruct (same_k k' k) as [->|]; [|left; auto].
  destruct (IH a x (at_key k (inside g cs))) as [same|(b & -> & same)]; [left | right; exists b; split]; auto.
Qed.

Lemma strip_here : forall c b x cs, strip c ((c ++ b, x) :: cs) = (b, x) :: strip c cs.
Proof.
  induction c as [|[g k] c IH]; intros b x cs; auto. simpl. unfold Cells.at_key, Cells.inside. simpl.
  destruct (same_p g g); [|congruence]. simpl. destruct (same_k k k); [|congruence]. apply IH.
Qed.

Definition Covers (charges : list address) (cs : form) : Prop :=
  forall a x, In (a, x) cs -> exists c b, In c charges /\ a = c ++ b.

Lemma parts_cover_the_whole : forall eta charges cs, Below eta -> NotNegative cs -> Covers charges cs ->
  value eta cs <= sum_over (fun c => value (fun b => eta (c ++ b)) (strip c cs)) charges.
Proof.
  intros eta charges cs shares. induction cs as [|[a x] cs IH]; intros pos covered.
  - apply sum_nonnegative. intros c _. rewrite strip_nil. simpl. lra.
  - assert (less : value eta cs <= sum_over (fun c => value (fun b => eta (c ++ b)) (strip c cs)) charges).
    { apply IH; [intros a' x' there; apply (pos a' x') | intros a' x' there; apply (covered a' x')]; right; auto. }
    destruct (covered a x (or_introl eq_refl)) as (c0 & b0 & there & ->).
    assert (0 <= x) by (eapply pos; left; reflexivity).
    change (value eta ((c0 ++ b0, x) :: cs)) with (x * eta (c0 ++ b0) + value eta cs).
    assert (more : forall c, value (fun b => eta (c ++ b)) (strip c cs) <=
                             value (fun b => eta (c ++ b)) (strip c ((c0 ++ b0, x) :: cs))).
    { intros c. destruct (strip_cons c (c0 ++ b0) x cs) as [->|(b & e & ->)]; [lra|]. simpl.
      pose proof (Qmult_le_0_compat x (eta (c ++ b)) H (shares_are_not_negative eta shares _)).
      unfold value. lra. }
    eapply Qle_trans; [apply Qplus_le_compat; [apply Qle_refl | exact less]|].
    clear IH less pos covered. induction charges as [|c charges IH]; [destruct there|].
    set (before := fun c => value (fun b => eta (c ++ b)) (strip c cs)) in *.
    set (after := fun c => value (fun b => eta (c ++ b)) (strip c ((c0 ++ b0, x) :: cs))) in *.
    change (x * eta (c0 ++ b0) + (before c + sum_over before charges) <= after c + sum_over after charges).
    destruct there as [->|there].
    + assert (first : after c0 = x * eta (c0 ++ b0) + before c0) by (unfold after; rewrite strip_here; reflexivity).
      pose proof (sum_le before after charges (fun c _ => more c)) as rest. rewrite first. lra.
    + pose proof (IH there : x * eta (c0 ++ b0) + sum_over before charges <= sum_over after charges) as rest.
      pose proof (more c : before c <= after c) as first. clear - rest first. clearbody before after. lra.
Qed.

(** The part of its largest value that a form reaches is at most the sum of the charged cells' shares. So a release whose
    loss is proportional to the distance, and is [eps] at the full distance, loses at most eps·Σ η(charged cells). *)
Theorem a_release_loses_what_it_is_charged : forall n eta charges cs, Below eta -> NotNegative cs -> Depth n cs ->
  Covers charges cs -> value eta cs <= cost same_p same_k n cs * sum_over eta charges.
Proof.
  intros n eta charges cs shares pos deep covered.
  eapply Qle_trans; [apply (parts_cover_the_whole eta charges); auto|].
  rewrite <- sum_scaled. apply sum_le. intros c _.
  destruct (le_lt_dec (length c) n) as [short|long].
  - replace n with (length c + (n - length c))%nat in deep |- * by lia.
    destruct (cost_of_a_part c _ cs pos deep) as (pos' & deep' & less).
    eapply Qle_trans; [apply (no_more_than_cost same_p same_k (n - length c)); auto|].
    + split; intros; [apply shares_are_not_negative; auto|]. rewrite (sum_same _ (fun k => eta ((c ++ a) ++ [(g, k)])))
        by (intros; rewrite app_assoc; reflexivity). apply children_share_their_parents; auto.
    + cbv beta. rewrite app_nil_r. apply Qmult_le_compat_r; auto. apply shares_are_not_negative; auto.
  - replace (strip c cs) with (@nil (address * Q)).
    + simpl. apply Qmult_le_0_compat; [apply cost_is_not_negative; auto | apply shares_are_not_negative; auto].
    + clear - deep long. induction cs as [|[a x] cs IH]; [symmetry; apply strip_nil|].
      destruct (strip_cons c a x cs) as [e|(b & -> & _)].
      * etransitivity; [apply IH | symmetry; exact e]. intros a' x' there. apply (deep a' x'). right; auto.
      * specialize (deep (c ++ b) x (or_introl eq_refl)). rewrite app_length in deep. lia.
Qed.

(** ** Releases that are chosen one after another *)

(** A chance is anything that can be multiplied, and [Near a p q] stands for p ≤ eᵃ·q. Laws.v gives the instance of
    the real numbers; nothing else about them is used here. *)
Section Ledger.
Context {chance answer : Type} (one : chance) (times : chance -> chance -> chance) (Near : Q -> chance -> chance -> Prop).
Hypothesis near_one : Near 0 one one.
Hypothesis near_times : forall a b p q p' q', Near a p q -> Near b p' q' -> Near (a + b) (times p p') (times q q').
Hypothesis near_more : forall a b p q, a <= b -> Near a p q -> Near b p q.

(** A release on two neighbours: what it is charged, and the chance of each answer on the one and on the other. *)
Record release := { charges : form; here : answer -> chance; there : answer -> chance }.

Context (strategy : list (option answer) -> release) (limit : Q).

(** What the analyst has seen (newest first; None is a refusal), what was spent, and the chance of just this on either
    neighbour. The next release may depend on everything seen so far. It is answered if its charges fit under the limit,
    and refused otherwise. *)
Inductive Run : list (option answer) -> form -> chance -> chance -> Prop :=
| Run_start : Run [] [] one one
| Run_answer : forall seen spent p q o, Run seen spent p q ->
    ledger_cost (spent ++ charges (strategy seen)) <= limit ->
    Run (Some o :: seen) (spent ++ charges (strategy seen))
        (times p (here (strategy seen) o)) (times q (there (strategy seen) o))
| Run_refuse : forall seen spent p q, Run seen spent p q ->
    limit < ledger_cost (spent ++ charges (strategy seen)) -> Run (None :: seen) spent p q.

(** The filter: nothing that would exceed the limit is answered. *)
Theorem nothing_over_the_limit_is_answered : forall seen spent p q, 0 <= limit -> Run seen spent p q ->
  ledger_cost spent <= limit.
Proof. intros seen spent p q pos run. induction run; auto. Qed.

(** Let every release lose at most the sum of its charges, each times the share of its cell. Then everything that is seen
    together loses at most the cost of all charges, and so at most the limit, however the releases were chosen. *)
Theorem the_ledger_bounds_the_joint_loss : forall eta, Shares eta -> 0 <= limit ->
  (forall seen, NotNegative (charges (strategy seen))) ->
  (forall seen o, Near (value eta (charges (strategy seen))) (here (strategy seen) o) (there (strategy seen) o)) ->
  forall seen spent p q, Run seen spent p q -> Near (ledger_cost spent) p q /\ Near limit p q.
Proof.
  intros eta shares pos fine losses seen spent p q run.
  assert (near : Near (value eta spent) p q /\ NotNegative spent).
  { induction run as [|seen spent p q o run [near ok] fits|seen spent p q run [near ok] over]; auto.
    - split; [apply (near_more 0); simpl; auto; lra | intros a c []].
    - split.
      + apply (near_more (value eta spent + value eta (charges (strategy seen)))); auto.
        unfold value. rewrite sum_app. lra.
      + intros a c inside'. apply in_app_or in inside' as [|]; [eapply ok | eapply fine]; eauto. }
  destruct near as [near ok].
  assert (Near (ledger_cost spent) p q).
  { eapply near_more; [|exact near]. apply cost_is_never_exceeded; auto using depth_is_enough. }
  split; auto. eapply near_more; [|eassumption]. eapply nothing_over_the_limit_is_answered; eauto.
Qed.
End Ledger.
End Budget.
