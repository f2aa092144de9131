import type { Command } from "../console/command.ts";
import { exportCommands } from "../import/export-command.ts";
import { importCommands } from "../import/import-command.ts";
import { updateCommand } from "../import/update-users.ts";
import type { ApiDocument } from "../operations/api-document.ts";
import { operationCommands } from "../operations/operation-commands.ts";
import { auditCommands } from "./audit-commands.ts";
import { completionCommands } from "./completion-command.ts";
import { contextCommands } from "./context-commands.ts";
import { declaredCommands } from "./declared-commands.ts";
import { doctorCommand } from "./doctor-command.ts";
import { loginCommand } from "./login-command.ts";
import { openCommand } from "./open-command.ts";
import { tokenCommands } from "./token-commands.ts";
import { whyCommand } from "./why-command.ts";

/** **Every command for a deployment**, sorted. `document` is that of the admin API. */
export function allCommands(document: ApiDocument): readonly Command[] {
  const scopes = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ security }) => security.flatMap((each) => Object.values(each).flat())),
  );
  const commands = [
    loginCommand([...new Set(scopes)].toSorted()),
    ...contextCommands,
    openCommand,
    ...operationCommands(document),
    ...tokenCommands,
    ...auditCommands,
    whyCommand,
    doctorCommand,
    ...declaredCommands(document),
    ...importCommands,
    ...exportCommands,
    updateCommand,
  ];
  return completionCommands(commands).toSorted((left, right) => compare(left.words.join(" "), right.words.join(" ")));
}

function compare(left: string, right: string): number {
  return left < right ? -1 : 1;
}
