/** Scripts of harmless words in every form in which a shell takes them. */
/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: the shell's */

type Next = (below: number) => number;

const names = ['a.txt', 'b.txt', 'a', 'sub', 'sub/a.txt', 'x', '-n', 'c', '.'];
const variables = ['x', 'y', 'z'];
const programs = ['wc', 'rm', 'cp', 'stat', 'file', 'tail', 'cat', 'diff', 'touch', 'mkdir', 'ls', 'head'];

/** `next`: a whole number below its argument. */
export function wordScript(next: Next): string {
  return createWriter(next).script();
}

interface Writer {
  script(): string;
}

function createWriter(next: Next): Writer {
  const oneOf = <T>(list: readonly T[]): T => list[next(list.length)] as T;
  const often = (share: number): boolean => next(100) < share;
  const some = (most: number, make: () => string, least = 0): string[] => Array.from({ length: least + next(most + 1 - least) }, make);
  let depth = 0;
  const deeper = (make: () => string, otherwise: string): string => {
    if (depth > 2) return otherwise;
    depth += 1;
    const made = make();
    depth -= 1;
    return made;
  };

  const name = () => oneOf(names);
  const variable = () => oneOf(variables);
  const index = () => oneOf(['0', '1', '@', '*', '-1', 'x', '$y', '1+1']);
  const parameter = () => oneOf([variable(), variable(), oneOf(['1', '2', '@', '*', '#', '?', '0', '10'])]);
  const operator = () =>
    oneOf([
      () =>
        oneOf([':-', '-', ':=', '=', ':+', '+']) +
        oneOf([name(), name(), `"${name()}"`, `'${name()}'`, '$y', '', 'p q', '*', '~', '{a,b}', '\\*', '"$y"']),
      () =>
        oneOf(['#', '##', '%', '%%']) +
        oneOf(['*', '?', '*.', '.*', 's*/', '*/', 'a', '.txt', '"*"', '$y', '[ab]', '\\*', 'a*t', '**', '*b']),
      () => oneOf(['/', '//', '/#', '/%']) + oneOf(['a/b', 'a', '*/x', '?/', '/-', './..', '$x/$y', 'a/&', 't/*']),
      () => oneOf([':0', ':1', ':0:1', ': -1', ':1:2', '^', '^^', ',', ',,', ':$x']),
    ])();
  const expansion = () =>
    oneOf([
      () => `$${variable()}`,
      () => `\${${variable()}}`,
      () => `$${oneOf(['1', '2', '@', '*', '#', '?', '0', '-', '!', '_', '10'])}`,
      () => `\${${parameter()}${operator()}}`,
      () => `\${${variable()}${operator()}}`,
      () => `\${#${parameter()}}`,
      () => `\${z[${index()}]}`,
      () => `\${z[${oneOf(['@', '*', '0'])}]${operator()}}`,
      () => `\${#z[@]}`,
      () => `\${!z[@]}`,
    ])();
  const quotedPart = () =>
    oneOf([
      name,
      name,
      expansion,
      expansion,
      substitution,
      () => oneOf([' ', '\\"', '\\$', '\\\\', '*', '~', '{a,b}', "'", '\\n', '\\a', '#', '\n', '!', '$', '\\\n', '\t']),
    ])();
  const substitution = (): string =>
    deeper(
      () =>
        oneOf([
          () => `$(echo ${words(2)})`,
          () => `$(${simple()})`,
          () => `\`echo ${name()}\``,
          () => `$(printf ${oneOf(["'%s\\n'", '%s', "'%s '", '"%s"'])} ${words(2)})`,
          () => `$(basename ${word()} ${oneOf(['', '.txt', 'a'])})`,
          () => `$(dirname ${word()})`,
          () => `$(ls ${oneOf(['', 'sub', '*.txt', '-a', '-d sub'])})`,
          () => `$(cat ${name()})`,
          () => `$(find ${oneOf(['.', 'sub', '. -name "*.txt"', '-name a', 'sub -type f', 'sub . -maxdepth 1'])})`,
          () => `$(${oneOf(['pwd', 'cd sub; pwd', 'cd sub && echo a', 'echo $PWD', '< a.txt', 'true', 'echo'])})`,
          () => `$(${statement()})`,
          () => `$((${oneOf(['1+2', 'x', 'x=2', 'y+1', '-1', '2**3', '1,2', '10#08', '0x1f', '1?2:3'])}))`,
        ])(),
      'x',
    );
  const piece = (): string =>
    oneOf([
      name,
      name,
      name,
      () => `'${oneOf([name(), 'p q', '*', '$x', '~', '\\', '{a,b}', '', '"', '\n'])}'`,
      () => `"${some(3, quotedPart).join('')}"`,
      () => `"${expansion()}"`,
      () =>
        `$'${oneOf([name(), '\\t', 'a\\x2e', '\\056\\056', 'p q', "\\'", '\\\\', '\\n', '\\u002e', 'a\\0b', '\\ca', '\\"', '\\e', '\\?', '\\z'])}'`,
      () => `\\${oneOf(['a', '*', ' ', '\\', '$', '~', "'", '"', '{', '}', ',', '#', '-', '.', '\n', '[', '?', 'é', '(', ';'])}`,
      expansion,
      expansion,
      substitution,
      () =>
        oneOf([
          '*',
          '?',
          '[ab]',
          '*.txt',
          's*',
          '[!a]*',
          '[a-c]',
          '*/',
          '.*',
          '*/*',
          '[[:alpha:]]',
          '[^x]',
          '**',
          '[]a]',
          '[a',
          'a]',
          '.e*',
          '@(a)',
          '[\\a]',
        ]),
      () =>
        oneOf([
          '{a,b}',
          '{1..2}',
          '{a,b}{c,d}',
          '{a..b}',
          '{a}',
          '{a,}',
          '{,a}',
          '{a,{b,c}}',
          '{$x,b}',
          '{a',
          'b}',
          '{a,"b c"}',
          '{01..02}',
          '{a,b}.txt',
          '{}',
          '{x,-n}',
          '{b..a}',
          'a{',
          '{a,b',
          '{a\\,b}',
          '{"a",b}',
          "{a,'b'}",
          '{~,a}',
          '${x},{a,b}',
          '{a,b}$x',
          '{$x..2}',
          '{9..10}',
        ]),
      () => oneOf(['~', '~/a', 'a~', 'x=~', '~/../a', '~']),
      () => oneOf(['=', '+', '@', '%', ',', ':', '^', '!', '#', 'é', 'ü', '--', 'a=b', '[', ']', '[]', 'a=~/x', '-', '--opt=~', 'A=*']),
    ])();
  const word = (): string => (often(35) ? name() : some(3, piece, 1).join(''));
  const words = (most: number): string => some(most, word, 1).join(' ');
  const redirect = () =>
    oneOf([
      '> o',
      '>> o',
      '2>&1',
      '2>/dev/null',
      '< a.txt',
      '> "$x"',
      '<<< $x',
      '<<< "$(echo a)"',
      '>| o',
      '&> o',
      '> sub/o',
      '3> o',
      '> o 2>&1',
      `> ${word()}`,
      '<<< {a,b}',
      '<<< *',
      '2>&1 > o',
      '> o x',
      '<&0',
    ]);
  const simple = (): string => {
    const parts = [oneOf(programs), ...some(3, word)];
    if (often(12)) parts.unshift(`${variable()}=${word()}`);
    if (often(15)) parts.splice(1 + next(parts.length), 0, redirect());
    if (often(12))
      parts.unshift(
        oneOf([
          'env',
          'command',
          'exec',
          'time',
          '!',
          'nice',
          'env x=b',
          'timeout 1',
          'env -u x',
          'builtin',
          'env --',
          'command --',
          `env x=${word()}`,
          'nice -n 1',
          'exec -a',
          'time -p',
          'env "$x"',
          '\\command',
          'eval',
        ]),
      );
    return parts.join(oneOf([' ', ' ', ' ', ' ', '  ', '\t', ' \\\n']));
  };
  const assigned = () =>
    oneOf([
      () => `${variable()}=${word()}`,
      () => `${variable()}=${word()}`,
      () => `${variable()}+=${word()}`,
      () => `z=(${words(3)})`,
      () => `z+=(${words(2)})`,
      () => `z[${oneOf(['0', '1', 'x', '5'])}]=${word()}`,
      () => `z=([1]=${word()} ${word()})`,
      () =>
        `${oneOf(['export', 'readonly', 'local', 'declare', 'typeset', 'declare -a', 'declare -i', 'declare -u', 'declare -l', 'export -n', 'declare -r', 'declare -A', 'local -', 'declare -g', 'declare -n'])} ${variable()}=${word()}`,
      () => `export ${variable()}`,
      () => `${variable()}=${word()} ${variable()}=${word()}`,
      () => `read ${oneOf(['', '-r', '-a', '-d ,', '-n 1'])} ${variable()} <<< ${word()}`,
      () => `read x y <<< ${word()}`,
      () => `printf -v ${variable()} ${oneOf(['%s', '%d', '%q'])} ${word()}`,
      () => `mapfile -t z <<< ${word()}`,
      () => `set ${oneOf(['--', '-', ''])} ${words(3)}`,
      () => 'set -- "$@" b',
      () => `shift ${oneOf(['', '1', '2'])}`,
      () => `unset ${oneOf(['', '-v', '-f', '-n'])} ${oneOf(['x', 'y', 'z', 'z[0]', 'f'])}`,
      () => `let ${oneOf(['x=1', 'y+=1', 'x=y', '"x = 2"'])}`,
      () => `((${oneOf(['x=1', 'y++', 'x=y', 'z[0]=2', 'x+=1'])}))`,
      () => `: \${${variable()}${operator()}}`,
      () => `: $((${variable()}=5))`,
      () => `IFS=${oneOf([',', '/', '.', "''", 'a', '" "', ':'])}`,
      () => `getopts ab: ${variable()} ${word()}`,
      () =>
        oneOf([
          'shopt -s nullglob',
          'shopt -s dotglob',
          'shopt -s globstar',
          'set -f',
          'set -u',
          'set -e',
          'shopt -s failglob',
          'shopt -s nocaseglob',
          'shopt -u nullglob',
          'set -o noglob',
          'set -C',
          'shopt -s extglob',
          'set +f',
          'set -k',
          'set -o posix',
          'set -x',
          'set -a',
          'set +B',
          'set -v',
          'shopt -s lastpipe',
          'shopt -s expand_aliases',
        ]),
      () =>
        oneOf([
          "alias wc='rm a'",
          "alias x='cat '",
          'unalias -a',
          'hash -r',
          'umask 022',
          "trap 'rm a' EXIT",
          "trap 'wc $x' EXIT",
          'trap - EXIT',
          'wait',
          'ulimit -c 0',
          "trap 'cat b.txt' ERR",
          "trap 'rm b' DEBUG",
          'exit',
          'return',
          'enable -n echo',
          'pwd',
          'declare -p x',
          'trap f EXIT',
          'jobs',
        ]),
      () =>
        `cd ${oneOf(['sub', 'sub', '-', '.', 'sub/deep', './sub', '""', '-P sub', '-- sub', 'nowhere', '$x', '"$x"', 'sub/../sub', '.. ', 'deep', '~', '', 'su*'])}`,
      () =>
        oneOf([
          'pushd sub',
          'popd',
          'cd sub > o',
          'cd sub || true',
          'cd sub && pwd',
          'cd sub | cat',
          'cd sub &',
          'pushd -n sub',
          'dirs',
          'pushd',
          'cd sub || exit',
          'pushd +1',
          'cd nowhere || cd sub',
          '! cd sub',
          'time cd sub',
          'command cd sub',
          'builtin cd sub',
          'x=1 cd sub',
          'cd "$(echo sub)"',
          'eval cd sub',
          'cd sub 2>/dev/null',
          'exec 3>o',
          '\\cd sub',
          'c""d sub',
          '{ cd sub; } > o',
          'cd sub <<< a',
          'X=cd; $X sub',
        ]),
    ])();
  const list = (most: number): string => some(most, statement, 1).join(oneOf(['; ', '\n', ' && ', ' || ', '; ', '\n']));
  const compound = (): string =>
    oneOf([
      () => `if ${statement()}; then ${list(2)}; ${oneOf(['', `else ${list(1)}; `, `elif ${statement()}; then ${list(1)}; `])}fi`,
      () => `for ${variable()} in ${words(3)}; do ${list(2)}; done`,
      () => `for ${variable()}; do ${list(1)}; done`,
      () => `for ((x=0; x<2; x++)); do ${list(1)}; done`,
      () =>
        `while read ${oneOf(['', '-r '])}${oneOf(['x', 'y', 'x y'])}; do ${list(1)}; done ${oneOf(['< a.txt', `<<< ${word()}`, '< <(ls sub)', '< <(echo a)', '<<E\na.txt\n$x\nE', '< <(find sub)'])}`,
      () =>
        `${oneOf(['ls', 'find .', `echo ${words(2)}`, `printf '%s\\n' ${words(2)}`, 'cat a.txt', 'ls sub', 'find sub -type f', 'ls .', 'echo a,b.txt', 'echo "p q"', 'ls sub .'])} | while ${oneOf(['', 'IFS= ', 'IFS=/ ', 'IFS=, '])}read ${oneOf(['-r x', 'x', 'x y', '-r y', '-d , x', '-a z', '-r -d "" x'])}; do ${list(1)}; done`,
      () =>
        `case ${word()} in ${word()}) ${list(1)};; ${oneOf(['*', 'a|b', '(x', '$x', '"$x"', '?', '[ab]'])}) ${list(1)};${oneOf([';', ';', '&', ';&'])} esac`,
      () => `{ ${list(2)}; }${oneOf(['', ' > o', ' 2>&1', ' | cat', ' < a.txt'])}`,
      () => `(${list(2)})${oneOf(['', ' > o', ' | cat', '', ' <<< a'])}`,
      () =>
        `${oneOf(['f', 'g'])}() { ${list(2)}; }${oneOf(['', '', ' > o', ` <<< ${word()}`])}; ${oneOf(['f', 'g', 'f; f'])} ${oneOf(['', words(2), words(3)])}`,
      () => `f() (${list(2)}); f ${words(2)}`,
      () => `function g { ${list(1)}; }; g ${words(1)}; ${list(1)}`,
      () => `until ${statement()}; do ${list(1)}; done`,
      () => `${statement()} &\nwait`,
      () => `coproc { ${statement()}; }; wait`,
      () => `select x in a; do ${list(1)}; break; done <<< 1`,
    ])();
  const carried = (): string =>
    oneOf([
      () =>
        `${oneOf(['ls', 'find .', `echo ${words(2)}`, `printf '%s\\n' ${words(2)}`, "printf '%s\\0' a 'b c'", 'cat a.txt', 'find sub -type f', 'find . -print0', 'ls *.txt'])} | xargs ${oneOf(['', '-n 1', '-I{}', '-I %', '-r', '-L 1', '-d ,', '-t', '-n1 -P1', '-I {} -n 1', '-i', '--'])} ${simple()} ${oneOf(['', '{}', '%', '"{}"'])}`,
      () => `xargs ${oneOf(['', '-n1', '-I{}'])} ${simple()} ${oneOf(['', '{}'])} <<E\n${words(2)}\nE`,
      () => `xargs ${simple()} < a.txt`,
      () => `printf '%s\\0' ${words(2)} | xargs -0 ${simple()}`,
      () => `xargs ${simple()} <<< ${word()}`,
      () => `xargs -a a.txt ${simple()}`,
      () =>
        `find ${oneOf(['.', 'sub', '*', '-L .', '$x', 'sub "$x"'])} ${oneOf(['', '-type f', '-name "*.txt"', '-name a', '-maxdepth 1', '! -name a', '-name $x'])} -exec ${oneOf(programs)} ${oneOf(['', '-n', word()])} {} ${oneOf(['\\;', '+', "';'", '";"'])}`,
      () => `find sub -exec ${oneOf(programs)} a {} \\;`,
      () =>
        `${oneOf(['sh', 'bash', 'bash -e', 'sh -ec', 'bash --norc'])} -c '${inScript()}' ${oneOf(['', words(2), words(3), `_ ${words(1)}`, `-- ${words(2)}`])}`,
      () => `bash -c "${inScript()}" ${words(2)}`,
      () => `eval ${oneOf([`"${simple()}"`, `'${simple()}'`, simple()])}`,
      () => `bash <<E\n${simple()}\nE`,
      () => `bash <<'E'\n${simple()}\nE`,
      () => `echo '${oneOf(programs)} a' | ${oneOf(['sh', 'bash', 'bash -s x'])}`,
      () => `cat <<E | ${simple()}\n${words(2)}\nE`,
      () => `${simple()} <<-E\n\t${words(2)}\n\tE`,
      () => `${simple()} <(${simple()})`,
      () => `${simple()} > >(${simple()})`,
      () => `${simple()} | ${simple()}`,
      () => `${simple()} && ${simple()} || ${simple()}`,
      () => `source <(echo ${words(2)})`,
      () => `"$@"`,
      () => `$x ${words(1)}`,
      () =>
        `${oneOf(['$x', '"$x"', '${x:-wc}', '$(echo wc)', '{wc,a}', "w'c'", 'w\\c', '"wc"', "$'wc'", '~/wc', 'w*', '"${z[@]}"', '${z[0]}', '$1', '"$1"', '"${@:2}"', '"${x}"', "$'\\x77c'", '\\wc', "''wc", 'w""c'])} ${words(2)}`,
      () =>
        `f() { ${oneOf(['"$@"', '$@', '$*', '"$*"', '"$1" "$2"', 'wc "$@"', 'rm $1', 'cat "${@:2}"', 'cat "$2"', 'wc $*', 'wc "$*"', 'shift; "$@"', 'shift; wc "$@"', 'set -- a; wc "$@"', 'local x=$1; wc $x', 'wc "${1:-b}"', 'for x; do wc $x; done', 'for x in "$@"; do wc "$x"; done', 'wc $#', 'x=$1; g', 'f2 "$@"', 'wc ${1}0 $10', 'local z=("$@"); wc "${z[@]}"', 'wc "$2" $x'])}; }; ${oneOf(['f', 'x=sub f', 'x=1; f', 'command f', 'f a; f', 'f a; \\f', 'f a; x=f; $x', 'f a; "f"', 'f a; y=f; "$y"'])} ${oneOf([words(3), `wc ${words(1)}`])}`,
    ])();
  const inScript = (): string => simple().replace(/'/g, '').replace(/"/g, '');
  const statement = (): string =>
    deeper(() => (often(35) ? simple() : often(50) ? assigned() : often(55) ? compound() : carried()), `wc ${name()}`);
  return {
    script: () => {
      const script = some(4, statement, 1).join(oneOf(['; ', '\n', '\n', ' && ', ' || ', '; ']));
      return often(4) ? script.replace(/\n/g, '\r\n') : script;
    },
  };
}
