// Reads {name: html} and writes what caniemail and html-validate say about each, as JSON.
import { readFileSync } from "node:fs";
import { caniemail } from "caniemail";
import { HtmlValidate, StaticConfigLoader } from "html-validate";

const { clients, rules, pages } = JSON.parse(readFileSync(0, "utf8"));
const validator = new HtmlValidate(
  new StaticConfigLoader({ root: true, extends: ["html-validate:recommended"], rules }),
);

const listed = (issues) =>
  [...issues].flatMap(([client, each]) =>
    each.map(({ title, notes }) => ({ client, feature: title, notes: notes.join(" ") })),
  );

const judgements = {};
for (const [name, html] of Object.entries(pages)) {
  const { errors, warnings } = caniemail({ clients, html }).issues;
  const report = await validator.validateString(html);
  judgements[name] = {
    errors: listed(errors),
    warnings: listed(warnings),
    invalid: report.results.flatMap(({ messages }) =>
      messages.map(({ ruleId, message, line }) => `${ruleId}: ${message} (line ${line})`),
    ),
  };
}
console.log(JSON.stringify(judgements));
