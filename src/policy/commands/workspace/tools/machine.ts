/** Programs that look at the machine, databases and checksums: a few words of each are harmless. */
import { duckdbFault, sqliteFault } from '../sqlite-script.ts';
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';

export const machineRules: readonly ToolRule[] = [
  {
    id: 'workspace.pgrep',
    programs: ['pgrep', 'pidof', 'pstree'],
    paths: 'text',
    cautions: [{ word: /^(?:-F|--pidfile|-L|--logpidfile|--signal)/, concern: 'unclear', message: 'reads a file' }],
    justification: 'shows the numbers of processes',
    match: ['pgrep -fl vite', 'pidof node'],
    notMatch: ['pgrep -F /outside/x.pid', 'pgrep node | xargs kill'],
  },
  {
    id: 'workspace.sockets',
    programs: ['ss', 'netstat', 'lsof'],
    paths: 'text',
    needsOperand: true,
    cautions: [
      {
        word: /^(?!(?:-[tulnap46sxeio]+|-[tinP]*(?:[46])?(?:TCP|UDP|tcp|udp)?(?:@?(?:localhost|127\.0\.0\.1)?:\d{1,5}(?:[-,]\d{1,5})*)?|-[nPtiF]+|-i|:\d{1,5}|[st]?tcp(?::\d{1,5})?|-sTCP:LISTEN|--(?:listening|tcp|udp|numeric|all|processes|summary)|\||state|established|listening|[sd]port|=)$)/,
        concern: 'unclear',
        message: 'an option that is not known to only look at sockets',
      },
    ],
    justification: 'shows which sockets are open',
    match: ['ss -tlnp', 'netstat -tulpn', 'lsof -i :3000', 'lsof -ti:8080', 'lsof -i tcp:3000'],
    notMatch: ['ss -K dst 10.0.0.1', 'ss -D x', 'ss -F x', 'lsof', 'lsof -p 1', 'lsof /etc/passwd', 'netstat -c'],
  },
  {
    id: 'workspace.top',
    programs: ['top', 'vmstat', 'iostat'],
    paths: 'text',
    cautions: [
      {
        word: /^(?!(?:-b?n? ?\d{1,2}|-bn\d|-b|-n|-[mdswxzh]|-o|[%+]?[A-Z%]{2,8}|\d{1,2}|-S|-[cHi])$)/,
        concern: 'unclear',
        message: 'an option that is not known to show the load a few times',
      },
      { word: /^-[a-z]*d$/, concern: 'never_ends', message: 'may go on for long' },
    ],
    justification: 'shows the load a few times',
    match: ['top -bn1', 'top -b -n 1', 'vmstat 1 3', 'vmstat', 'iostat'],
    notMatch: ['top', 'vmstat 1', 'iostat -x 2', 'top -p 1 -s x', 'top -W'],
  },
  {
    id: 'workspace.openssl',
    programs: ['openssl'],
    paths: 'write',
    textOptions: ['-subj', '-addext', '-days', '-newkey'],
    cautions: [
      {
        word: /^-(?:engine|provider|provider-path|config|conf|passin|passout|pass|connect|proxy|rand|writerand|CAfile|cert_chain|k|kfile|propquery)$/,
        concern: 'runs_other_code',
        message: 'loads code, names a secret or reaches another machine',
      },
      { word: /^(?:pass|env|file|fd):/, concern: 'SECRET_VARIABLE', message: 'a password' },
    ],
    verbs: [
      { verbs: words('rand dgst sha1 sha256 sha384 sha512 md5 base64 version prime list ciphers x509 verify asn1parse crl passwd speed') },
      {
        verbs: words('req genrsa genpkey ecparam pkcs12 enc pkey rsa ec pkcs8 cms smime'),
        concern: 'SECRET_FILE',
        message: 'makes or reads keys',
      },
      { verbs: words('s_client s_server s_time ocsp tsget'), concern: 'network_blocked', message: 'needs the network' },
    ],
    justification: 'prints digests, random numbers and certificates',
    match: ['openssl rand -hex 16', 'openssl dgst -sha256 file.txt', 'openssl version', 'openssl x509 -in cert.crt -noout -text'],
    notMatch: [
      'openssl s_client -connect x:443',
      'openssl req -engine ./x.so',
      'openssl rsa -in certs/server.pem',
      'openssl dgst -engine x a',
      'openssl base64 -in .env',
    ],
  },
  {
    id: 'workspace.sqlite',
    programs: ['sqlite3'],
    paths: 'write',
    textOptions: ['-separator', '-nullvalue', '-newline'],
    cautions: [
      {
        word: /^--?(?!(?:header|noheader|csv|json|column|table|box|markdown|line|list|html|quote|readonly|batch|bail|separator|nullvalue|newline|version|echo|stats|safe|tabs|ascii|help)$)/,
        concern: 'runs_other_code',
        message: 'runs commands of a file or is not known',
      },
      { word: /^file:/i, concern: 'unclear', message: 'a file by its address' },
    ],
    codeBehindFirst: sqliteFault,
    needsOperand: true,
    justification: 'asks a database file of the workspace',
    match: ["sqlite3 test.db 'select count(*) from t'", 'sqlite3 -json test.db .tables', 'sqlite3 :memory: "select 1"'],
    notMatch: [
      "sqlite3 x '.shell id'",
      'sqlite3 /outside/x.db .dump',
      'sqlite3 x ".load ./evil"',
      'sqlite3 x "select readfile(\'/etc/passwd\')"',
      'sqlite3 -init evil x',
      'sqlite3 x "attach \'/outside/x\' as y"',
    ],
  },
  {
    id: 'workspace.duckdb',
    programs: ['duckdb'],
    paths: 'write',
    codeFault: duckdbFault,
    codeOption: /^-[cs]$/,
    codeBehindFirst: duckdbFault,
    cautions: [
      {
        word: /^--?(?!(?:[cs]|header|noheader|csv|json|jsonlines|column|table|box|markdown|line|list|html|quote|readonly|batch|bail|version|help|ascii)$)/,
        concern: 'runs_other_code',
        message: 'runs commands of a file or is not known',
      },
    ],
    needsOperand: true,
    justification: 'asks data files of the workspace',
    match: ['duckdb -c "select count(*) from \'data.csv\'"', "duckdb dev.duckdb 'show tables'", 'duckdb -json -c "select 1"'],
    notMatch: [
      'duckdb -c "select * from \'/etc/passwd\'"',
      'duckdb -c "select * from read_text(\'.env\')"',
      'duckdb -c "install httpfs"',
      'duckdb -c "select * from \'https://x/y.csv\'"',
      'duckdb -c ".shell id"',
      'duckdb -init evil.sql x.db',
      'duckdb /outside/x.db',
    ],
  },
];
