/** The examples that a user's rules carry, tried when the rules are loaded. */
import * as z from 'zod';
import type { Dialect } from '../ssh/line.ts';
import { readStrictLine } from '../ssh/read-line.ts';
import { fitsUserRule, type UserRule, userRuleSchema } from './user-rule.ts';

const dialect: Dialect = { separators: [], nonAscii: true, limits: { length: 2_000, words: 64, commands: 1 } };

/** All rules of a configuration: no id twice, and every example agrees with its rule. */
export const userRulesSchema = z.array(userRuleSchema).superRefine((rules, context) => {
  for (const [index, rule] of rules.entries()) {
    if (rules.findIndex((other) => other.id === rule.id) !== index)
      context.addIssue({ code: 'custom', path: [index, 'id'], message: `two rules are named \`${rule.id}\`` });
    for (const message of exampleFaults(rule)) context.addIssue({ code: 'custom', path: [index], message });
  }
});

function exampleFaults(rule: UserRule): readonly string[] {
  return [
    ...rule.match
      .filter((line) => !fitsLine(rule, line))
      .map((line) => `rule \`${rule.id}\`: its example \`${line}\` does not fall under it`),
    ...rule.notMatch
      .filter((line) => fitsLine(rule, line))
      .map((line) => `rule \`${rule.id}\`: \`${line}\` falls under it, against its \`notMatch\``),
  ];
}

function fitsLine(rule: UserRule, line: string): boolean {
  const lexed = readStrictLine(line, dialect);
  const words = lexed.ok ? lexed.pipelines[0]?.commands[0]?.words : undefined;
  return (
    words !== undefined &&
    fitsUserRule(
      rule,
      words.map((word) => word.text),
    )
  );
}
