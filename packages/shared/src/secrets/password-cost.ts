/** The cost parameters of scrypt (RFC 7914 §2). */
export interface ScryptCost {
  /** log2 of N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** OWASP's recommendation for 16 MiB; more memory per hash would take too much of the isolate's 128 MB. */
export const currentCost: ScryptCost = { ln: 14, r: 8, p: 5 };
