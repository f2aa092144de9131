/** **The exit codes of `edge-op`**, for scripts; `docs/operating/command-line.md` lists them. A code never changes its meaning. */
export const exitCodes = {
  done: 0,
  /** The provider refused the request, or a check found something wrong. */
  refused: 1,
  /** The command line is wrong; nothing was sent. */
  usage: 2,
  notSignedIn: 3,
  /** The access token lacks a scope, or the change would exceed its authority. */
  noRights: 4,
  /** The provider did not respond, or could not decide: the same command may succeed later. */
  unavailable: 5,
  notFound: 6,
  /** Another change came first, or the id is taken. */
  conflict: 7,
} as const;

export type Outcome = keyof typeof exitCodes;

/** **The end of a command that did not succeed.** `detail` contains further members of the error with `--json`. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly outcome: Exclude<Outcome, "done">;
  readonly detail: Readonly<Record<string, unknown>>;

  constructor(
    outcome: Exclude<Outcome, "done">,
    message: string,
    detail: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.outcome = outcome;
    this.detail = detail;
  }
}

export function usageFailure(message: string): Failure {
  return new Failure("usage", message);
}
