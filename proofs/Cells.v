(** The tree of cells, and the largest value of a linear form over it (src/privjail/plan/cells.py, plan/distance.py).

    A cell is known by its address: the steps (partition, key) that lead to it from the whole data set []. Each cell has
    a share η: how much of what one privacy unit can change lies in it. [Shares] says what is known about the shares. A
    form is a list of (address, coefficient): Σ c·η(address). [cost] is the formula
    V(p) = c(p) + Σ_g maxₖ V(p/g=k), and the two theorems say that it is the largest value of the form. *)

From Coq Require Import List QArith Qminmax Lqa Lia.
Import ListNotations.
Open Scope Q_scope.

(** ** Sums and maxima of lists *)

Definition sum_over {X : Type} (f : X -> Q) (l : list X) : Q := fold_right (fun x s => f x + s) 0 l.
Definition max_over {X : Type} (f : X -> Q) (l : list X) : Q := fold_right (fun x s => Qmax (f x) s) 0 l.

Section Sums.
Context {X : Type}.
Implicit Types (f g : X -> Q) (l : list X).

Lemma sum_same : forall f g l, (forall x, In x l -> f x == g x) -> sum_over f l == sum_over g l.
Proof.
  induction l as [|x l IH]; simpl; intros same; [reflexivity|]. rewrite (same x) by auto. rewrite IH by auto. reflexivity.
Qed.

Lemma sum_le : forall f g l, (forall x, In x l -> f x <= g x) -> sum_over f l <= sum_over g l.
Proof.
  induction l as [|x l IH]; simpl; intros less; [lra|]. specialize (less x (or_introl eq_refl)) as first.
  assert (sum_over f l <= sum_over g l) by (apply IH; auto). lra.
Qed.

Lemma sum_scaled : forall c f l, sum_over (fun x => c * f x) l == c * sum_over f l.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.

Lemma sum_nonnegative : forall f l, (forall x, In x l -> 0 <= f x) -> 0 <= sum_over f l.
Proof.
  induction l as [|x l IH]; simpl; intros pos; [lra|]. specialize (pos x (or_introl eq_refl)) as first.
  assert (0 <= sum_over f l) by auto. lra.
Qed.

Lemma sum_app : forall f l r, sum_over f (l ++ r) == sum_over f l + sum_over f r.
Proof. induction l; simpl; intros; [ring|]. rewrite IHl. ring. Qed.

Lemma max_is_above : forall f l x, In x l -> f x <= max_over f l.
Proof.
  induction l as [|y l IH]; simpl; intros x []; subst.
  - apply Q.le_max_l.
  - eapply Qle_trans; [apply IH; auto | apply Q.le_max_r].
Qed.

Lemma max_nonnegative : forall f l, 0 <= max_over f l.
Proof. induction l; simpl; [lra|]. eapply Qle_trans; [exact IHl | apply Q.le_max_r]. Qed.

(** The first element at which the maximum is reached. *)
Fixpoint best f l : option X :=
  match l with
  | [] => None
  | x :: l' => if Qlt_le_dec (f x) (max_over f l') then best f l' else Some x
  end.

Lemma best_reaches_the_maximum : forall f l, (forall x, In x l -> 0 <= f x) ->
  match best f l with
  | Some x => In x l /\ f x == max_over f l
  | None => l = []
  end.
Proof.
  induction l as [|x l IH]; simpl; intros pos; auto.
  destruct (Qlt_le_dec (f x) (max_over f l)) as [less|more].
  - specialize (IH (fun y there => pos y (or_intror there))). destruct (best f l) as [y|].
    + destruct IH as [there same]. split; auto. rewrite same. symmetry. apply Q.max_r. lra.
    + subst l. simpl in less. specialize (pos x (or_introl eq_refl)). lra.
  - split; auto. symmetry. apply Q.max_l. auto.
Qed.
End Sums.

(** ** A list by classes: each element is in no class or in one *)

Section Classes.
Context {X G Y : Type} (same : forall x y : G, {x = y} + {x <> y}) (class : X -> option (G * Y)).

Definition members (g : G) (l : list X) : list Y :=
  flat_map (fun x => match class x with Some (h, y) => if same h g then [y] else [] | None => [] end) l.

Definition classes (l : list X) : list G :=
  nodup same (flat_map (fun x => match class x with Some (h, _) => [h] | None => [] end) l).

Lemma classes_are_distinct : forall l, NoDup (classes l).
Proof. intros; apply NoDup_nodup. Qed.

Lemma in_classes : forall l x g y, In x l -> class x = Some (g, y) -> In g (classes l).
Proof. intros. apply nodup_In, in_flat_map. exists x. rewrite H0. simpl; auto. Qed.

Lemma in_members : forall l g y, In y (members g l) <-> exists x, In x l /\ class x = Some (g, y).
Proof.
  intros. unfold members. rewrite in_flat_map. split; intros (x & there & is); exists x; split; auto.
  - destruct (class x) as [[h z]|]; [|contradiction]. destruct (same h g) as [->|]; [|contradiction].
    destruct is as [->|[]]; auto.
  - rewrite is. destruct (same g g); [left; auto | congruence].
Qed.

Lemma only_one : forall (f : G -> Q) v g gs, NoDup gs -> In g gs ->
  sum_over (fun h => if same g h then v + f h else f h) gs == v + sum_over f gs.
Proof.
  induction 1 as [|h gs new distinct IH]; simpl; [tauto|]. intros there. destruct (same g h) as [->|differs].
  - rewrite (sum_same _ f); [ring|]. intros x inside. destruct (same h x) as [->|]; [contradiction | reflexivity].
  - destruct there as [->|there]; [congruence|]. rewrite IH by auto. ring.
Qed.

Lemma sum_by_classes : forall (w : X -> Q) (v : G -> Y -> Q) gs l, NoDup gs ->
  (forall x g y, In x l -> class x = Some (g, y) -> In g gs /\ w x == v g y) ->
  sum_over w l == sum_over (fun x => match class x with None => w x | Some _ => 0 end) l +
                  sum_over (fun g => sum_over (v g) (members g l)) gs.
Proof.
  intros w v gs l distinct. induction l as [|x l IH]; intros known.
  - simpl. rewrite (sum_same _ (fun _ => 0 * 0)) by (intros; simpl; ring). rewrite sum_scaled. ring.
  - assert (step : sum_over (fun g => sum_over (v g) (members g (x :: l))) gs ==
      match class x with Some (g, y) => v g y | None => 0 end + sum_over (fun g => sum_over (v g) (members g l)) gs).
    { destruct (class x) as [[g y]|] eqn:is.
      - destruct (known x g y (or_introl eq_refl) is) as [there _].
        rewrite <- (only_one (fun h => sum_over (v h) (members h l)) (v g y) g gs distinct there).
        apply sum_same. intros h _. unfold members. simpl. rewrite is. rewrite sum_app.
        destruct (same g h) as [<-|]; simpl; ring.
      - rewrite Qplus_0_l. apply sum_same. intros h _. unfold members. simpl. rewrite is. reflexivity. }
    rewrite step. simpl. rewrite IH by (intros; apply known; simpl; auto).
    destruct (class x) as [[g y]|] eqn:is; [|ring].
    destruct (known x g y (or_introl eq_refl) is) as [_ ->]. ring.
Qed.
End Classes.

(** ** Cells *)

Section Cells.
Context {P K : Type} (same_p : forall x y : P, {x = y} + {x <> y}) (same_k : forall x y : K, {x = y} + {x <> y}).

Definition address : Type := list (P * K).
Definition form : Type := list (address * Q).

(** What is known about the shares of a cell and of all cells below it. *)
Record Below (eta : address -> Q) : Prop := {
  shares_are_not_negative : forall a, 0 <= eta a;
  children_share_their_parents : forall a g keys, NoDup keys ->
    sum_over (fun k => eta (a ++ [(g, k)])) keys <= eta a }.

(** The polytope: the whole data set has a share of at most 1. *)
Definition Shares (eta : address -> Q) : Prop := Below eta /\ eta [] <= 1.

Definition value (eta : address -> Q) (cs : form) : Q := sum_over (fun '(a, c) => c * eta a) cs.

(** The coefficient of the cell itself; the part of a form that lies in one partition of it, and there at one key. *)
Definition own (cs : form) : Q := sum_over (fun '(a, c) => match a with [] => c | _ => 0 end) cs.

Definition by_partition (term : address * Q) : option (P * (K * (address * Q))) :=
  match term with ([], _) => None | ((g, k) :: a, c) => Some (g, (k, (a, c))) end.
Definition by_key (term : K * (address * Q)) : option (K * (address * Q)) := Some term.

Definition partitions (cs : form) : list P := classes same_p by_partition cs.
Definition inside (g : P) (cs : form) : list (K * (address * Q)) := members same_p by_partition g cs.
Definition keys (terms : list (K * (address * Q))) : list K := classes same_k by_key terms.
Definition at_key (k : K) (terms : list (K * (address * Q))) : form := members same_k by_key k terms.

(** V(p) = c(p) + Σ_g maxₖ V(p/g=k), for a form whose addresses have at most [n] steps. *)
Fixpoint cost (n : nat) (cs : form) : Q :=
  match n with
  | O => own cs
  | S n' => own cs + sum_over (fun g => max_over (fun k => cost n' (at_key k (inside g cs))) (keys (inside g cs)))
                       (partitions cs)
  end.

Definition Depth (n : nat) (cs : form) : Prop := forall a c, In (a, c) cs -> (length a <= n)%nat.
Definition NotNegative (cs : form) : Prop := forall a c, In (a, c) cs -> 0 <= c.

Lemma in_at_key : forall g k cs a c, In (a, c) (at_key k (inside g cs)) <-> In ((g, k) :: a, c) cs.
Proof.
  intros g k cs a c. unfold at_key, inside. rewrite in_members. split.
  - intros (x & there & is). injection is as ->. apply in_members in there. destruct there as ([a' c'] & there & is).
    destruct a' as [|[g' k'] a']; simpl in is; [discriminate|]. injection is as -> -> -> ->. auto.
  - intros there. exists (k, (a, c)). split; auto. apply in_members. exists ((g, k) :: a, c). auto.
Qed.

Lemma depth_below : forall n g k cs, Depth (S n) cs -> Depth n (at_key k (inside g cs)).
Proof. intros n g k cs deep a c there. apply in_at_key, deep in there. simpl in there. lia. Qed.

Lemma not_negative_below : forall g k cs, NotNegative cs -> NotNegative (at_key k (inside g cs)).
Proof. intros g k cs pos a c there. apply in_at_key, pos in there. auto. Qed.

(** A form is its own coefficient, and the forms of its children. *)
Lemma value_splits : forall eta cs, value eta cs == own cs * eta [] +
  sum_over (fun g => sum_over (fun k => value (fun a => eta ((g, k) :: a)) (at_key k (inside g cs)))
                       (keys (inside g cs))) (partitions cs).
Proof.
  intros eta cs. unfold value at 1.
  rewrite (sum_by_classes same_p by_partition _ (fun g '(k, (a, c)) => c * eta ((g, k) :: a)) (partitions cs)).
  - apply Qplus_comp.
    + rewrite Qmult_comm. unfold own. rewrite <- sum_scaled. apply sum_same. intros [[|[g k] a] c] _; simpl; ring.
    + apply sum_same. intros g _. fold (inside g cs).
      rewrite (sum_by_classes same_k by_key _ (fun k '(a, c) => c * eta ((g, k) :: a)) (keys (inside g cs))).
      * unfold by_key at 1. rewrite (sum_same _ (fun _ => 0 * 0)) by (intros; ring). rewrite sum_scaled.
        rewrite Qmult_0_l, Qplus_0_l. reflexivity.
      * apply classes_are_distinct.
      * intros [k' [a c]] k [a' c'] there is. injection is as -> -> ->. split; [|reflexivity].
        eapply in_classes; [exact there | reflexivity].
  - apply classes_are_distinct.
  - intros [[|[g' k'] a'] c'] g [k [a c]] there is; [discriminate|]. injection is as -> -> -> ->. split; [|reflexivity].
    eapply in_classes; [exact there | reflexivity].
Qed.

Lemma cost_is_not_negative : forall n cs, NotNegative cs -> 0 <= cost n cs.
Proof.
  assert (owns : forall cs, NotNegative cs -> 0 <= own cs).
  { intros cs pos. apply sum_nonnegative. intros [[|s a] c] there; [eapply pos; eauto | lra]. }
  destruct n; simpl; intros cs pos; auto.
  pose proof (sum_nonnegative (fun g => max_over (fun k => cost n (at_key k (inside g cs))) (keys (inside g cs)))
    (partitions cs) ltac:(intros; apply max_nonnegative)). specialize (owns cs pos). lra.
Qed.

Lemma own_is_all : forall eta cs, Depth 0 cs -> value eta cs == own cs * eta [].
Proof.
  intros eta cs flat. rewrite Qmult_comm. unfold own. rewrite <- sum_scaled. apply sum_same.
  intros [[|s a] c] there; [ring|]. apply flat in there. simpl in there. lia.
Qed.

Lemma share_of_child : forall eta s, Below eta -> Below (fun a => eta (s :: a)).
Proof.
  intros eta s [pos parts]. split; auto. intros a g ks distinct. apply (parts (s :: a)); auto.
Qed.

Lemma no_more_than_cost : forall n cs eta, Depth n cs -> NotNegative cs -> Below eta ->
  value eta cs <= cost n cs * eta [].
Proof.
  induction n as [|n IH]; intros cs eta deep pos shares.
  - rewrite own_is_all by auto. simpl. lra.
  - rewrite value_splits. simpl. rewrite Qmult_plus_distr_l. apply Qplus_le_compat; [lra|].
    rewrite Qmult_comm, <- sum_scaled. apply sum_le. intros g _.
    set (most := max_over (fun k => cost n (at_key k (inside g cs))) (keys (inside g cs))).
    apply Qle_trans with (sum_over (fun k => most * eta [(g, k)]) (keys (inside g cs))).
    + apply sum_le. intros k there.
      apply Qle_trans with (cost n (at_key k (inside g cs)) * eta [(g, k)]).
      * apply (IH _ (fun a => eta ((g, k) :: a))); auto using depth_below, not_negative_below, share_of_child.
      * apply Qmult_le_compat_r; [apply (max_is_above (fun k => cost n (at_key k (inside g cs)))); auto|].
        apply shares_are_not_negative; auto.
    + rewrite sum_scaled, Qmult_comm. apply Qmult_le_compat_r; [|apply max_nonnegative].
      apply (children_share_their_parents eta shares []). apply classes_are_distinct.
Qed.

(** ** The shares that reach it: all of a cell goes, in each partition, to the child that is worth most *)

Definition favourite (n : nat) (g : P) (cs : form) : option K :=
  best (fun k => cost n (at_key k (inside g cs))) (keys (inside g cs)).

Fixpoint greedy (n : nat) (cs : form) (a : address) : Q :=
  match a, n with
  | [], _ => 1
  | _, O => 0
  | (g, k) :: a', S n' =>
      match favourite n' g cs with
      | Some k' => if same_k k' k then greedy n' (at_key k (inside g cs)) a' else 0
      | None => 0
      end
  end.

Lemma greedy_whole : forall n cs, greedy n cs [] = 1.
Proof. destruct n; reflexivity. Qed.

Lemma greedy_is_0_or_more : forall n cs a, 0 <= greedy n cs a.
Proof.
  intros n cs a. revert n cs. induction a as [|[g k] a IH]; intros [|n] cs; simpl; try lra.
  destruct (favourite n g cs) as [k'|]; [|lra]. destruct (same_k k' k); [apply IH | lra].
Qed.

Lemma sum_of_zeros : forall (X : Type) (f : X -> Q) l, (forall x, In x l -> f x == 0) -> sum_over f l == 0.
Proof.
  intros X f l zero. rewrite (sum_same f (fun _ => 0 * 0)); [rewrite sum_scaled; ring|].
  intros x there. rewrite zero by auto. ring.
Qed.

Lemma one_of_them : forall (f : K -> Q) k ks, NoDup ks -> In k ks ->
  sum_over (fun x => if same_k k x then f x else 0) ks == f k.
Proof.
  intros f k ks distinct there.
  rewrite (sum_same _ (fun h => if same_k k h then f k + 0 else 0)).
  - rewrite (only_one same_k (fun _ => 0) (f k) k ks distinct there). rewrite (sum_of_zeros _ _ ks); [ring|].
    intros; reflexivity.
  - intros x _. destruct (same_k k x) as [->|]; ring.
Qed.

Lemma greedy_shares : forall n cs, Below (greedy n cs).
Proof.
  intros n cs. split; [apply greedy_is_0_or_more|]. intros a. revert n cs.
  induction a as [|[g' k'] a IH]; intros [|n] cs g ks distinct; simpl app; simpl greedy.
  - rewrite sum_of_zeros; [lra | reflexivity].
  - destruct (favourite n g cs) as [k|]; [|rewrite sum_of_zeros; [lra | reflexivity]].
    destruct (in_dec same_k k ks) as [there|not].
    + apply Qle_trans with (sum_over (fun x => if same_k k x then 1 else 0) ks).
      * apply sum_le. intros x _. destruct (same_k k x); [rewrite greedy_whole|]; lra.
      * rewrite (one_of_them (fun _ => 1) k ks distinct there). lra.
    + rewrite sum_of_zeros; [lra|]. intros x inside. destruct (same_k k x) as [->|]; [contradiction | reflexivity].
  - rewrite sum_of_zeros; [lra | reflexivity].
  - destruct (favourite n g' cs) as [k|]; [|rewrite sum_of_zeros; [lra | reflexivity]].
    destruct (same_k k k'); [apply IH; auto | rewrite sum_of_zeros; [lra | reflexivity]].
Qed.

Lemma greedy_reaches_cost : forall n cs, Depth n cs -> NotNegative cs -> value (greedy n cs) cs == cost n cs.
Proof.
  induction n as [|n IH]; intros cs deep pos.
  - rewrite own_is_all by auto. simpl. ring.
  - rewrite value_splits. simpl. rewrite Qmult_1_r. apply Qplus_comp; [reflexivity|]. apply sum_same. intros g _.
    pose proof (best_reaches_the_maximum (fun k => cost n (at_key k (inside g cs))) (keys (inside g cs))) as reached.
    fold (favourite n g cs) in reached.
    destruct (favourite n g cs) as [k|].
    + destruct reached as [there <-]; [intros; apply cost_is_not_negative, not_negative_below; auto|].
      rewrite (sum_same _ (fun x => if same_k k x then cost n (at_key x (inside g cs)) else 0)).
      * apply (one_of_them (fun x => cost n (at_key x (inside g cs)))); auto. apply classes_are_distinct.
      * intros x _. destruct (same_k k x) as [<-|].
        -- apply IH; auto using depth_below, not_negative_below.
        -- unfold value. apply sum_of_zeros. intros [a c] _. ring.
    + rewrite reached by (intros; apply cost_is_not_negative, not_negative_below; auto). reflexivity.
Qed.

(** ** The value of a linear form is its largest value over all shares *)

Theorem cost_is_never_exceeded : forall n cs eta, Depth n cs -> NotNegative cs -> Shares eta ->
  value eta cs <= cost n cs.
Proof.
  intros n cs eta deep pos [shares whole]. eapply Qle_trans; [apply (no_more_than_cost n); auto|].
  rewrite <- (Qmult_1_r (cost n cs)) at 2. rewrite !(Qmult_comm (cost n cs)).
  apply Qmult_le_compat_r; auto. apply cost_is_not_negative; auto.
Qed.

Theorem cost_is_reached : forall n cs, Depth n cs -> NotNegative cs ->
  exists eta, Shares eta /\ value eta cs == cost n cs.
Proof.
  intros n cs deep pos. exists (greedy n cs). split; [|apply greedy_reaches_cost; auto].
  split; [apply greedy_shares|]. rewrite greedy_whole. lra.
Qed.
End Cells.
