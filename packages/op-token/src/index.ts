export default { fetch: () => new Response("x") };
