// Graphile Worker with nodemailer's pool: `node graphile.mjs prepare URL`, `node graphile.mjs work URL PORT`.
import { createRequire } from "node:module";

const require = createRequire(process.env.BENCH_PACKAGES);
const { Logger, run, runMigrations } = require("graphile-worker");
const [, , act, connectionString, port] = process.argv;
const logger = new Logger(() => () => {});

if (act === "prepare") {
  await runMigrations({ connectionString, logger });
  process.exit(0);
}

const pool = require("nodemailer").createTransport({
  host: "127.0.0.1", port: Number(port), secure: false, ignoreTLS: true,
  pool: true, maxConnections: 16, maxMessages: Infinity,
});
const send = ({ to, raw }) => pool.sendMail({ envelope: { from: "shop@example.com", to: [to] }, raw });
const worker = {
  connectionString, concurrentJobs: 24, pollInterval: 1000, maxPoolSize: 10,
  localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0,
};
await run({ connectionString, logger, concurrency: 24, preset: { worker }, taskList: { send_mail: async (job) => { await send(job); } } });
