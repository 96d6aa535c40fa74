/** What `make` runs of a makefile whose text is known: the recipes of the goals and of what they need. Patterns and includes are left out. */

interface MakeRule {
  readonly needs: readonly string[];
  readonly recipe: readonly string[];
}

/** The commands of the goals; of the first rule when there are none. */
export function recipesOf(text: string, goals: readonly string[]): readonly string[] {
  const rules = readRules(text);
  const [first = ''] = [...rules.keys()].filter((name) => !name.startsWith('.'));
  const named = goals.filter((goal) => rules.has(goal));
  const wanted = new Set(named.length > 0 ? named : [first]);
  // A set that grows is walked to its new end.
  for (const goal of wanted) for (const need of rules.get(goal)?.needs ?? []) wanted.add(need);
  return [...wanted].flatMap((goal) => rules.get(goal)?.recipe ?? []);
}

function readRules(text: string): ReadonlyMap<string, MakeRule> {
  const rules = new Map<string, MakeRule>();
  let current: readonly string[] = [];
  const add = (names: readonly string[], { needs, recipe }: MakeRule) => {
    for (const name of names) {
      const old = rules.get(name);
      rules.set(name, { needs: [...(old?.needs ?? []), ...needs], recipe: [...(old?.recipe ?? []), ...recipe] });
    }
  };
  for (const line of text.split('\n')) {
    const head = /^([^\s#:=][^#:=]*?)\s*::?(?!=)([^;]*)(?:;(.*))?$/.exec(line);
    if (line.startsWith('\t')) add(current, { needs: [], recipe: [command(line)] });
    else if (head !== null) {
      current = split(head[1]);
      add(current, { needs: split(head[2]), recipe: head[3] === undefined ? [] : [command(head[3])] });
    } else if (line.trim() !== '') current = [];
  }
  return rules;
}

function split(names = ''): readonly string[] {
  return names.split(/\s+/).filter((name) => name !== '');
}

/** Without the signs that make takes away; `$$` is the shell's `$`. */
function command(line: string): string {
  return line.replace(/^[\s@+-]+/, '').replaceAll('$$', '$');
}
