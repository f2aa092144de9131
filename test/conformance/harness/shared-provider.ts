import { inject } from "vitest";
import { Actors } from "./actors.ts";

/** The provider that all files of a run share, and who takes part in their tests. */
export const provider = inject("provider");

export const actors = new Actors({ origin: provider.origin, issuer: provider.issuer, admin: provider.dev.admin });
