// No secret stands in the repository: the form of our own tokens is made to be found.

import { findLines, type Rule } from './rule.ts';

const secret =
  /\btb_(?:pat|oat|ocs|ort|inv|ses)_[0-9A-Za-z]{46}\b|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/;

const some = 'a1B2c3'.repeat(8).slice(0, 46);

const noSecrets: Rule = {
  id: 'no-secrets',
  name: 'no file holds a token or a private key',
  remedy: 'revoke it and take it out; a test mints its own',
  check: (file) => findLines(file, secret),
  refuses: [
    { files: { 'README.md': `\nTOKEN=tb_${'pat'}_${some}` }, at: ['README.md:2'] },
    { files: { 'src/a.ts': `'tb_${'oat'}_${some}'` }, at: ['src/a.ts:1'] },
    { files: { '.ci/run': `curl -u app_1:tb_${'ocs'}_${some}` }, at: ['.ci/run:1'] },
    { files: { 'test/a.json': `{"a": "tb_${'ort'}_${some}"}` }, at: ['test/a.json:1'] },
    { files: { 'test/a.pem': `-----BEGIN ${'EC'} PRIVATE KEY-----` }, at: ['test/a.pem:1'] },
  ],
  allows: [{ 'README.md': `tb_pat_… tb_pat_[0-9A-Za-z]{46} tb_${'pat'}_${some}0 PRIVATE KEY` }],
};

export const secretRules: readonly Rule[] = [noSecrets];
