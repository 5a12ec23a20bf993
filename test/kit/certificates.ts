// Certificates for tests, signed by themselves.

import { writeFileSync } from 'node:fs';
import forge from 'node-forge';

/** For 127.0.0.1 and localhost, in PEM form. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
  readonly validTo: Date;
}

export function makeCertificate(days = 30): TestCertificate {
  const { privateKey, publicKey } = forge.pki.rsa.generateKeyPair(2048);
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = publicKey;
  certificate.serialNumber = `01${forge.util.bytesToHex(forge.random.getBytesSync(8))}`;
  const { validity } = certificate;
  validity.notBefore = new Date(Date.now() - 60_000);
  validity.notAfter = new Date(Math.floor(Date.now() / 1_000) * 1_000 + days * 86_400_000);
  const name = [{ name: 'commonName', value: 'localhost' }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  const altNames = [
    { type: 2, value: 'localhost' },
    { type: 7, ip: '127.0.0.1' },
  ];
  certificate.setExtensions([{ name: 'subjectAltName', altNames }]);
  certificate.sign(privateKey, forge.md.sha256.create());
  return {
    cert: forge.pki.certificateToPem(certificate),
    key: forge.pki.privateKeyToPem(privateKey),
    validTo: validity.notAfter,
  };
}

export function writeCertificate(
  { cert, key }: Partial<TestCertificate>,
  files: { readonly cert: string; readonly key: string },
): void {
  if (cert !== undefined) writeFileSync(files.cert, cert);
  if (key !== undefined) writeFileSync(files.key, key);
}
