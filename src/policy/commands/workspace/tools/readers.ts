/** Programs that read files and print. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';
import { runsOrLoads } from './endless.ts';

export const readerRules: readonly ToolRule[] = [
  {
    id: 'workspace.list',
    programs: words('ls tree du stat file realpath readlink exa eza lsd dir vdir mdls'),
    paths: 'list',
    printsOnly: true,
    cautions: [
      runsOrLoads,
      { word: /^(?:--files0-from|-m$|--magic-file|--fromfile|-o$)/, concern: 'unclear', message: 'reads a list from a file or writes one' },
    ],
    justification: 'lists names and attributes',
    match: ['ls', 'ls -la src', 'du -sh .', 'stat file.txt', 'ls nc/ dd/ wget/', 'tree -L 2'],
    notMatch: ['ls /etc', 'ls ..', 'stat /outside/x', 'ls ~'],
  },
  {
    id: 'workspace.read',
    programs: words(
      'cat head wc nl tac rev col colrm ul fold fmt cut paste join comm diff cmp md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5 base64 base32 hexdump od strings column expand unexpand tsort pr look javap zcat gzcat bzcat xzcat zstdcat bat batcat nm objdump readelf size ldd cloc scc tokei csvlook mdcat glow colordiff wdiff exiftool b3sum crc32 zipinfo addr2line gprof ts genhtml ffprobe xsv qsv csvcut csvstat csvsort csvjson in2csv csvformat htmlq pup dasel tomlq luac elfutils diff3 hd basenc jless pdfinfo chardet chardetect uconv dust isutf8 errno choose icdiff diff-so-fancy wasm-objdump llvm-symbolizer html2text rhash hashdeep xxhsum xxh64sum zless zmore zdiff zcmp batdiff hyperlink difft delta git-delta diffstat lsdiff filterdiff datamash ptx',
    ),
    paths: 'read',
    printsOnly: true,
    takesPipes: true,
    cautions: [
      runsOrLoads,
      { word: /^--files0-from/, concern: 'unclear', message: 'reads a list of files' },
      {
        word: /^(?:--pager|--diff-program|--to-command|-tagsfromfile|-if\d?$)/,
        concern: 'runs_other_code',
        message: 'runs another program',
      },
    ],
    justification: 'prints files of the workspace',
    match: [
      'cat file.txt',
      'head -n 5 a.txt',
      'diff a.txt b.txt',
      'sha256sum file.txt',
      'cat curl.txt',
      'cut -d, -f1 a.csv',
      'diff -u a b',
      'diff <(sort a.txt) <(sort b.txt)',
    ],
    notMatch: ['cat /etc/passwd', 'cat ~/.ssh/id_rsa', 'cat .env', 'base64 ~/.netrc', 'wc --files0-from=x'],
  },
  {
    id: 'workspace.pager',
    programs: ['less', 'more'],
    paths: 'read',
    takesPipes: true,
    cautions: [
      {
        // `+CMD` runs a command of its own, `-o` writes, `-k` and `-t` read settings; the letters that only change what is shown.
        word: /^(?:\+|-(?!(?:[aAcCdeEfFgGiIJmMnNqQrRsSuUVwWX]+|[hxyzp]?\d+|-(?:quit-if-one-screen|raw-control-chars|chop-long-lines|line-numbers|no-init|squeeze-blank-lines|ignore-case|RAW-CONTROL-CHARS|LINE-NUMBERS|QUIT-AT-EOF|silent|squeeze))$))/,
        concern: 'runs_other_code',
        message: 'an option that is not known to only show',
      },
    ],
    justification: 'prints files of the workspace: without a terminal it is `cat`',
    match: ['less README.md', 'less -N src/index.ts', 'more a.txt', 'git log | less', 'less -FRX a.txt'],
    notMatch: [
      'less +!id a.txt',
      "less '+!id' a.txt",
      'less -o /outside/x a.txt',
      'less +F a.log',
      'less .env',
      'less /etc/passwd',
      'less -k x a.txt',
    ],
  },
  {
    id: 'workspace.records',
    programs: ['mlr'],
    paths: 'read',
    cautions: [
      {
        word: /^(?:put|filter|tee|split|case|-s|-I|--prepipe.*|--prepipex|--load|--mload|--from-s)$/,
        concern: 'runs_other_code',
        message: 'a program of its own, or files that are written',
      },
    ],
    justification: 'prints tables of the workspace',
    match: ['mlr --icsv --ojson cat data.csv', 'mlr --csv sort -nr x data.csv'],
    notMatch: ['mlr --icsv put \'$x=system("id")\' a.csv', 'mlr --prepipe id cat a.csv', 'mlr --csv cat /etc/passwd'],
  },
  {
    id: 'workspace.tail',
    programs: ['tail'],
    paths: 'read',
    printsOnly: true,
    takesPipes: true,
    cautions: [{ word: /^(?:-[0-9cnqvz]*[fF]|\+\d*[bcl]?f$|--fol|--ret|--pid)/, concern: 'never_ends', message: 'waits for more' }],
    justification: 'prints the end of files of the workspace',
    match: ['tail -n 50 log.txt', 'tail -5 a.txt'],
    notMatch: ['tail -f log.txt', 'tail -n 1 -F x', 'tail --follow=name x', 'tail /etc/passwd'],
  },
  {
    id: 'workspace.query',
    programs: ['jq', 'yq', 'xq', 'gron'],
    paths: 'write',
    takesPipes: true,
    textFirst: ['-f', '--from-file'],
    codeFault: queryFault,
    textOptions: ['--indent', '-o', '-p', '-I', '--output-format', '--input-format', '--expression'],
    pairOptions: ['--arg', '--argjson'],
    namedFiles: ['--slurpfile', '--rawfile'],
    cautions: [
      {
        word: /^(?:-[A-Za-z]*[Lf]|--(?:from|rawf(?!ile$)|raw-i|slurpf(?!ile$)|argf|library|split|expression|front|run-t))/,
        concern: 'unclear',
        message: 'other files',
      },
    ],
    justification: 'queries data files of the workspace',
    match: ["jq '.scripts' package.json", 'jq -r .name package.json', "jq --slurpfile a package.json '$a[0].name' b.json"],
    notMatch: [
      'jq -L /outside . x',
      'jq . /etc/x.json',
      'jq -f x y',
      'jq . .env',
      "jq -n --rawfile a .env '$a'",
      "jq -n --slurpfile a /etc/x.json '$a'",
      'jq --slurpfile a b.json env',
      'jq -n env',
      'jq -n --arg a b env',
      'yq \'load("/etc/passwd")\' a.yml',
    ],
  },
  {
    id: 'workspace.xml',
    programs: ['xmllint'],
    paths: 'write',
    takesPipes: true,
    textOptions: ['--xpath', '--encode', '--pretty', '--maxmem'],
    cautions: [
      {
        word: /^-(?!-?(?:format|noout|xpath|valid|recover|html|noblanks|c14n|encode|pretty|huge|nonet|schema|relaxng|dtdvalid|schematron|stream|timing|version|quiet|compress|output|o|maxmem|nowarning|pedantic|nsclean|xmlout|nocdata)(?:=|$)|-?$)/,
        concern: 'runs_other_code',
        message: 'is not known, or loads what a document names',
      },
    ],
    justification: 'checks and prints XML of the workspace',
    match: ['xmllint --noout a.xml', 'xmllint --format a.xml', "xmllint --xpath '//a/@b' a.xml", 'xmllint --noout --schema a.xsd a.xml'],
    notMatch: [
      'xmllint --shell a.xml',
      'xmllint --noent a.xml',
      'xmllint --output /outside/x a.xml',
      'xmllint --schema http://x/a.xsd a.xml',
      'xmllint --xinclude a.xml',
      'xmllint /etc/x.xml',
    ],
  },
];

/** A query that takes more than its input: the environment, other files, modules. */
function queryFault(code: string): string | undefined {
  const bare = code.replace(/"(?:[^"\\(]|\\[^(])*"/g, '""');
  return /(?<![.\w$])(?:env|strenv|envsubst|load\w*|import|include|input_filename|eval|system|\$ENV|\$__prog_args)\b(?!\s*:)|\$ENV\b/.test(
    bare,
  )
    ? 'a query that reads the environment or other files'
    : undefined;
}
