/** The examples that a user's rules carry, tried when the rules are loaded. */
import { lexStrictLine } from './strict/lex-strict-line.ts';
import type { Dialect } from './strict/strict-line.ts';
import { fitsUserRule, type UserRule } from './user-rule.ts';

const dialect: Dialect = { separators: [], nonAscii: true, limits: { length: 2_000, words: 64, commands: 1 } };

/** What is wrong with the rules, a sentence each: an id given twice, an example that contradicts its rule. */
export function userRuleFaults(rules: readonly UserRule[]): readonly string[] {
  const twice = rules.filter((rule, index) => rules.findIndex((other) => other.id === rule.id) !== index);
  return [...twice.map((rule) => `two rules are named \`${rule.id}\`; give each its own name`), ...rules.flatMap(exampleFaults)];
}

function exampleFaults(rule: UserRule): readonly string[] {
  return [
    ...rule.match.filter((line) => !fitsLine(rule, line)).map((line) => `rule \`${rule.id}\`: its example \`${line}\` does not fall under it`),
    ...rule.notMatch.filter((line) => fitsLine(rule, line)).map((line) => `rule \`${rule.id}\`: \`${line}\` falls under it, against its \`notMatch\``),
  ];
}

function fitsLine(rule: UserRule, line: string): boolean {
  const lexed = lexStrictLine(line, dialect);
  const words = lexed.ok ? lexed.pipelines[0]?.commands[0]?.words : undefined;
  return words !== undefined && fitsUserRule(rule, words.map((word) => word.text));
}
