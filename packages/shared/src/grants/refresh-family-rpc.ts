import { isNumber, isText, listOf, objectOf } from "@edge-op/protocol/encoding/stored-json";
import type { DetailsText } from "@edge-op/protocol/oauth/authorization-details";
import type { KeyConfirmation } from "@edge-op/protocol/oauth/confirmation";
import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import type { TokenTargets } from "../clients/token-targets.ts";
import type { FactsRpc } from "../config/deployment-facts.ts";
import { type GrantIdentity, isGrantIdentity } from "../leases/grant-identity.ts";
