// A passkey as an authenticator has it, ES256, for tests: it answers what a browser would pass on.

import {
  createHash,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

interface Options {
  readonly challenge: string;
}

export class TestPasskey {
  readonly id = randomBytes(32);
  readonly #origin: string;
  readonly #key: KeyObject;
  readonly #publicKey: Buffer;
  counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    // COSE: an EC2 key, ES256, on P-256.
    this.#publicKey = Buffer.concat([
      Buffer.from('a5010203262001215820', 'hex'),
      Buffer.from(x, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y, 'base64url'),
    ]);
  }

  /** The answer to what asks for a new passkey. */
  register({ challenge }: Options): string {
    const length = Buffer.from([0, this.id.length]);
    const attested = Buffer.concat([Buffer.alloc(16), length, this.id, this.#publicKey]);
    const data = this.#data(0x45, attested);
    // CBOR: { fmt: "none", attStmt: {}, authData: … }
    const size = Buffer.from([0x58, data.length]);
    const attestation = Buffer.concat([
      Buffer.from([0xa3, 0x63]),
      Buffer.from('fmt'),
      Buffer.from([0x64]),
      Buffer.from('none'),
      Buffer.from([0x67]),
      Buffer.from('attStmt'),
      Buffer.from([0xa0, 0x68]),
      Buffer.from('authData'),
      ...[size, data],
    ]);
    return this.#response({
      clientDataJSON: this.#client('webauthn.create', challenge).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
    });
  }

  /** The answer to what asks who is there. */
  answer({ challenge }: Options): string {
    const client = this.#client('webauthn.get', challenge);
    const data = this.#data(0x05, Buffer.alloc(0));
    const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
    return this.#response({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: createSign('sha256').update(signed).sign(this.#key).toString('base64url'),
    });
  }

  #client(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin }));
  }

  #data(flags: number, attested: Buffer): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    const relying = createHash('sha256').update(new URL(this.#origin).hostname).digest();
    return Buffer.concat([relying, Buffer.from([flags]), counter, attested]);
  }

  #response(response: object): string {
    const id = this.id.toString('base64url');
    const extensions = { clientExtensionResults: {} };
    return JSON.stringify({ id, rawId: id, type: 'public-key', response, ...extensions });
  }
}
