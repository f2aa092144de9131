/**
 * **Rules between the members of a client.** Pure: they read a whole document and return every fault. A rule names the members that it reads, and is
 * skipped when one of them is invalid by itself.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.1
 * @see https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata
 */

import { isEncryptionKey } from "@edge-op/protocol/jwt/encryption-key";
import { isPublicMethod, usesKey } from "@edge-op/protocol/oauth/client-auth-methods";
import type { FieldError, OAuthErrorCode } from "@edge-op/protocol/oauth/errors";
import { describeGrantType, type GrantType, grantTypes } from "@edge-op/protocol/oauth/grant-types";
import { redirectUriFault } from "@edge-op/protocol/oauth/uris";
import { refreshGraceLimits, type Settings } from "../config/settings.ts";
