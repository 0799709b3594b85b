// An OpenID provider for tests: node provider.mjs FOLDER ORIGIN, FOLDER with oidc-provider. Prints its own address.
// PUT /wrong NAME: from then on what it answers has this fault.
import { createRequire } from "node:module";
import { createServer } from "node:http";

const [folder, origin] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const { Provider } = require("oidc-provider");
const { SignJWT, UnsecuredJWT, decodeJwt, exportJWK, generateKeyPair } = require("jose");

const { privateKey } = await generateKeyPair("RS256", { extractable: true });
const foreign = await generateKeyPair("RS256");
const secret = "secret-of-the-portal-of-the-tests";
const server = createServer().listen(Number(process.argv[4] ?? 0), "127.0.0.1");
await new Promise((done) => server.once("listening", done));
const issuer = `http://127.0.0.1:${server.address().port}`;
let wrong = "";

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "portal",
      client_secret: secret,
      redirect_uris: [`${origin}/oidc/back`],
      post_logout_redirect_uris: [`${origin}/left`],
    },
  ],
  claims: { openid: ["sub"], profile: ["preferred_username"] },
  // Some providers put all claims into the ID token, others into userinfo.
  conformIdTokenClaims: process.env.CLAIMS !== "token",
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => (id === "ghost" ? { sub: id } : { sub: `sub-${id}`, preferred_username: id }),
  }),
  jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: "one", use: "sig", alg: "RS256" }] },
  cookies: { keys: ["of the tests"] },
  pkce: { required: () => true },
});

const signed = (claims, key = privateKey, alg = "RS256") =>
  new SignJWT(claims).setProtectedHeader({ alg, kid: "one" }).sign(key);
const hour = 3600;
const faults = {
  tampered: (_, token) => {
    const [head, , signature] = token.split(".");
    const claims = { ...decodeJwt(token), sub: "sub-root", preferred_username: "root" };
    return [head, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
  },
  unsigned: (claims) => new UnsecuredJWT(claims).encode(),
  "by a foreign key": (claims) => signed(claims, foreign.privateKey),
  "by the shared secret": (claims) => signed(claims, new TextEncoder().encode(secret), "HS256"),
  expired: (claims) => signed({ ...claims, iat: claims.iat - 2 * hour, exp: claims.iat - hour }),
  "without an end": ({ exp, ...claims }) => signed(claims),
  "for a foreign audience": (claims) => signed({ ...claims, aud: "another", azp: "portal" }),
  "of another issuer": (claims) => signed({ ...claims, iss: "https://evil.example.org" }),
  "with a wrong nonce": (claims) => signed({ ...claims, nonce: "of another sign-in" }),
  "without a nonce": ({ nonce, ...claims }) => signed(claims),
  "of nobody": () => undefined,
  sound: (claims) => signed(claims),
};

provider.use(async (ctx, next) => {
  if (ctx.path === "/wrong") {
    ctx.req.setEncoding("utf8");
    wrong = "";
    for await (const part of ctx.req) wrong += part;
    ctx.status = 204;
    return;
  }
  if (wrong === "broken" && ctx.path === "/token") return void (ctx.status = 500);
  await next();
  if (faults[wrong] && ctx.path === "/token" && ctx.body?.id_token)
    ctx.body.id_token = await faults[wrong](decodeJwt(ctx.body.id_token), ctx.body.id_token);
  if (wrong === "userinfo of somebody else" && ctx.path === "/me") ctx.body = { sub: "sub-root", preferred_username: "root" };
});
server.on("request", provider.callback());
console.log(issuer);
