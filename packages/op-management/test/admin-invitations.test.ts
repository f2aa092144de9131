import { readInvitationToken } from "@edge-op/shared/mail/sealed-links";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";
import { AdminMails } from "./fixtures/admin-mails.ts";

const { DB } = bindings;

let admin: AdminCaller;
let mails: AdminMails;

beforeEach(() => {
  mails = new AdminMails({ SIGN_UP: "invitation" });
  admin = new AdminCaller(mails.env);
});

const body = { email: "Maria@Example.com", name: "Maria Muster", roles: ["auditor"], groups: ["staff"], locale: "de" };

async function invite(members: object = {}, token?: string) {
  return admin.call("POST", "/invitations", {
    body: { ...body, ...members },
    ...(token === undefined ? {} : { token }),
  });
}

describe("/admin/invitations", () => {
  it("invites by a mail with a link, which is shown and stored nowhere; with an event", async () => {
    const { status, body: made } = await invite();
    expect([status, made]).toMatchObject([201, { email: "Maria@example.com", roles: ["auditor"], groups: ["staff"] }]);
    expect(made.expires_at - made.created_at).toBe(7 * 86_400);
    const [notice] = mails.prepared;
    expect(notice).toMatchObject({ kind: "invitation", removed: "Maria@example.com", locale: "de" });
    const token = new URLSearchParams(notice!.undo!.path.split("?")[1]).get("token")!;
    expect(await readInvitationToken(bindings, token)).toBe(made.invitation_id);
    expect(JSON.stringify(made)).not.toContain(token.split(".")[1]);
    const row = await DB.prepare("SELECT * FROM invitations").first();
    expect(JSON.stringify(row)).not.toContain(token.split(".")[1]);
    const event = await DB.prepare("SELECT target FROM admin_events WHERE action = 'invitation.create'").first(
      "target",
    );
    expect(event).toBe(made.invitation_id);
    // MailSender looks for this event before it sends.
    // The browser of the administrator is nothing that a person could recognise.
    expect([notice!.isByAdministrator, notice!.asker]).toEqual([true, undefined]);
    expect(notice!.evidence).toMatchObject({ action: "invitation.create", target: made.invitation_id });
  });

  it("lists them a page at a time, without ended ones, and withdraws one with an event", async () => {
    const ids = [];
    for (const each of ["a", "b", "c"]) ids.push((await invite({ email: `${each}@example.com` })).body.invitation_id);
    await DB.prepare("UPDATE invitations SET until_ms = 1 WHERE address = 'c@example.com'").run();
    const shown: { invitation_id: string }[] = [];
    // A page with one that has ended is short, and not the last one.
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const { body } = await admin.call("GET", `/invitations?limit=1${cursor && `&cursor=${cursor}`}`);
      shown.push(...body.invitations);
      cursor = body.next_cursor;
    }
    expect(shown.map(({ invitation_id: id }) => id)).toEqual(ids.slice(0, 2).toSorted());
    expect(shown).toContainEqual((await admin.call("GET", `/invitations/${ids[0]}`)).body);
    expect((await admin.call("DELETE", `/invitations/${ids[0]}`)).status).toBe(204);
    for (const gone of [ids[0], ids[2]]) {
      for (const method of ["GET", "DELETE"])
        expect((await admin.call(method, `/invitations/${gone}`)).status).toBe(404);
    }
    const event = DB.prepare("SELECT target FROM admin_events WHERE action = 'invitation.delete'");
    expect(await event.first("target")).toBe(ids[0]);
  });

  it("gives no admin scope that the inviter lacks, by a role or a group, nor withdraws such an invitation", async () => {
    await DB.batch([
      DB.prepare("INSERT INTO role_permissions VALUES ('boss', 'admin:keys')"),
      DB.prepare("INSERT INTO group_roles VALUES ('bosses', 'boss')"),
    ]);
    const lesser = await admin.issueToken({ scope: ["admin:users"] });
    for (const members of [{ roles: ["boss"] }, { groups: ["bosses"] }]) {
      expect((await invite(members, lesser)).status).toBe(403);
    }
    expect(mails.prepared).toEqual([]);
    const { invitation_id: id } = (await invite({ groups: ["bosses"] })).body;
    expect((await admin.call("DELETE", `/invitations/${id}`, { token: lesser })).status).toBe(403);
  });

  it.each([
    ["text that is no address", { email: "maria" }, 400],
    ["an address literal", { email: "maria@[127.0.0.1]" }, 400],
    ["an unknown member", { password: "secret" }, 400],
    ["a name that turns the text around", { name: "M\u202ea" }, 400],
    ["the address of an account, in any spelling", { email: "PAT@example.com" }, 409],
    ["an address that is invited already", { email: "INVITED@example.com" }, 409],
  ])("refuses %s, and mails nothing", async (_, members, status) => {
    const claims = { email: "pat@example.com", email_verified: true };
    await admin.call("POST", "/users", { body: { sub: "pat", username: "pat", claims } });
    await invite({ email: "invited@example.com" });
    expect(mails.released.splice(0)).toHaveLength(1);
    expect((await invite(members)).status).toBe(status);
    expect(mails.released).toEqual([]);
  });

  it("invites again once an invitation has ended", async () => {
    await invite();
    await DB.prepare("UPDATE invitations SET until_ms = 1").run();
    expect((await invite()).status).toBe(201);
    expect(await DB.prepare("SELECT count(*) AS n FROM invitations").first("n")).toBe(1);
  });

  it("is mailed again with another link, in the same language; the first one ends, and a third call finds nothing", async () => {
    const { invitation_id: first } = (await invite()).body;
    const { status, body: again, headers } = await admin.call("POST", `/invitations/${first}/resend`);
    expect([status, again]).toMatchObject([201, { email: "Maria@example.com", roles: ["auditor"], groups: ["staff"] }]);
    expect(headers.get("location")).toMatch(new RegExp(`/admin/invitations/${again.invitation_id}$`));
    const [, notice] = mails.prepared;
    expect(notice).toMatchObject({ kind: "invitation", locale: "de", sub: again.invitation_id });
    const { results } = await DB.prepare("SELECT id FROM invitations").all();
    expect(results).toEqual([{ id: again.invitation_id }]);
    expect(again.invitation_id).not.toBe(first);
    expect((await admin.call("POST", `/invitations/${first}/resend`)).status).toBe(404);
  });

  it("is mailed again by nobody who could not have made it", async () => {
    await DB.prepare("INSERT INTO role_permissions VALUES ('boss', 'admin:keys')").run();
    const { invitation_id: id } = (await invite({ roles: ["boss"] })).body;
    const lesser = await admin.issueToken({ scope: ["admin:users"] });
    expect((await admin.call("POST", `/invitations/${id}/resend`, { token: lesser })).status).toBe(403);
    expect(mails.released).toHaveLength(1);
  });

  it("refuses all with SIGN_UP=off", async () => {
    admin = new AdminCaller(new AdminMails({ SIGN_UP: "off" }).env);
    expect((await invite()).body).toMatchObject({
      error: "conflict",
      error_description: expect.stringContaining("SIGN_UP"),
    });
  });
});
