// pg-boss with nodemailer's pool: `node pgboss.mjs prepare URL`, `node pgboss.mjs work URL PORT`.
import { createRequire } from "node:module";

const require = createRequire(process.env.BENCH_PACKAGES);
const module = require("pg-boss");
const PgBoss = module.PgBoss ?? module.default ?? module;
const [, , act, connectionString, port] = process.argv;

const boss = new PgBoss({ connectionString, max: 10 });
boss.on("error", console.error);
await boss.start();

if (act === "prepare") {
  await boss.createQueue("mail");
  await boss.stop({ graceful: false });
  process.exit(0);
}

const pool = require("nodemailer").createTransport({
  host: "127.0.0.1", port: Number(port), secure: false, ignoreTLS: true,
  pool: true, maxConnections: 16, maxMessages: Infinity,
});
const send = ({ data }) => pool.sendMail({ envelope: { from: "shop@example.com", to: [data.to] }, raw: data.raw });
for (let worker = 0; worker < 2; worker++) {
  await boss.work("mail", { batchSize: 2000, pollingIntervalSeconds: 0.5 }, (jobs) => Promise.all(jobs.map(send)));
}
