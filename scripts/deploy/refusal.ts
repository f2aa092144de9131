/** **A deployment that is refused before anything was changed**, with all reasons. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reasons: readonly string[];

  constructor(reasons: readonly string[]) {
    super(reasons.join("\n"));
    this.reasons = reasons;
  }
}
