/** Shell scripts that look for the edges of a grammar. */

/** `·` stands between two. */
const parts = (text: string): readonly string[] => text.split('·');

/** What a shell takes for more than a character, and words around it. */
const tokens: readonly string[] = [
  ...parts('\n·\n·\n\n·\n  ·\\\n· \\\n·\\·\\\\·\t· · · ·;·; · | ·|· |& · || · && · & ·(·)·{ · }·; }·$(·)·`·"·"·\'·\'·$\'·$"·#· # ·!· ! '),
  ...parts("<<E\n·<<'E'\n·<<-E\n·\nE\n·E·<<<· < · > ·>· >> · 2>&1·2>x ·<(·>(· <> ·>|·&>·((·))·[[ · ]]·[ · ]·[·]"),
  ...parts(
    'if ·; then ·; fi· else ·for x in ·; do ·; done·while ·until ·case x in ·x) · ;; · esac·f() ·function f ·time ·coproc ·select x in ',
  ),
  ...parts(
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's
    'X=·X+=·=·=(·${X:-·}·${X·${#·$X·$((·*·?·~·-· -- ·[a]·[\\a]·{a,b}·,·echo ·echo a·ls·ls ·true·cat· | head· | sort·export ·unset X·local ·a·x',
  ),
];

/** What the policy refuses, and the oracle can see. */
const forbidden: readonly string[] = [
  ...parts('sudo· sudo · sudo id·\\sudo·\nsudo id·\n\\sudo id·; sudo id·s""udo·$(sudo)·`sudo`·<(sudo)·|| sudo·&& sudo·| sudo'),
  ...parts(
    ' ../out· ../out ·cat ../out·; rm ../out· | tee ../out·$(cat ../out)·../o[\\u]t·../ou? · > ../out·>../out ·>> ../out·2>../out·&> ../out',
  ),
];

/** One of every construct. */
const constructs: readonly string[] = [
  ...parts('ls·ls | cat·ls | cat | sort | wc·ls && ls·ls || ls·! ls·time ls·{ ls; }·(ls)·ls; ls·ls\nls·ls \\\n -l·ls &\nwait·true·:'),
  ...parts(
    '[ a ]·[ -f a -a b ]·[ a = b ] && ls·[[ a ]]·[[ a == b && c ]]·((1 + 2))·echo $((1 + 2))·test a·x=(a b)·x=a·x=a ls·export x=a·unset x·x+=a',
  ),
  ...parts(
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's
    'echo ${X:-a}·echo "${X:-a}"·echo "$X"·echo $X·echo "a b"·echo \'a b\'·echo $\'a\'·echo a{b,c}d·echo a*b·echo [ab]c·echo ~·echo $(ls)·echo `ls`·echo "$(ls)"',
  ),
  ...parts(
    "ls > x·ls 2>&1·ls < x·ls > x 2>&1·ls >> x·cat <<E\na\nE·cat <<'E'\na\nE·cat <<-E | sort\n\ta\n\tE·cat <<<a·cat <(ls)·ls # a·# a\nls",
  ),
  ...parts(
    'if ls; then ls; fi·if [ a ]; then ls; else ls; fi·for x in a b; do ls; done·for ((i = 0; i < 2; i++)); do ls; done·while ls; do break; done·until ls; do ls; done',
  ),
  ...parts(
    'case x in a) ls ;; b | c) ls ;; esac·f() { ls; }; f·function f { ls; }; f·f() (ls)·cat a | while read -r l; do echo "$l"; done·ls | xargs cat·find . -name a',
  ),
];

/** Tokens, an ordinary line with tokens thrown in, or a construct with something forbidden in it. `next`: a whole number below its argument. */
export function randomScript(ordinary: readonly string[], next: (below: number) => number): string {
  const oneOf = (list: readonly string[]): string => list[next(list.length)] ?? '';
  const throwIn = (script: string, part: string, drop: number): string => {
    const at = next(script.length + 1);
    return script.slice(0, at) + part + script.slice(at + drop);
  };
  const kind = next(4);
  if (kind === 0) return Array.from({ length: 2 + next(10) }, () => oneOf(next(4) === 0 ? forbidden : tokens)).join('');
  let script = kind === 1 ? oneOf(ordinary) : oneOf(constructs);
  if (next(3) === 0) script = [script, oneOf(kind === 1 ? ordinary : constructs)].join(oneOf(tokens));
  script = throwIn(script, oneOf(forbidden), next(3) === 0 ? next(3) : 0);
  for (let left = next(4); left > 0; left -= 1) script = throwIn(script, oneOf(tokens), next(4) === 0 ? next(3) : 0);
  return script;
}
