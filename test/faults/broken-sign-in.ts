/** **An op-auth that never responds**: an entry point that shows what needs no sign-in. */

export default {
  fetch(): Response {
    throw new Error("op-auth is away");
  },
} satisfies ExportedHandler;
