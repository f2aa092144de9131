/** **A deployment that is refused before anything has been touched**, with every reason at once. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reasons: readonly string[];

  constructor(reasons: readonly string[]) {
    super(reasons.join("\n"));
    this.reasons = reasons;
  }
}
