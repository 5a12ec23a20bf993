// The proxies that people put before the service, run with the samples of deploy/, and before a
// service of a test. Where a program is not installed, its tests say so.

import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort } from './port.ts';
import { changed, inPath, sampleOf } from './samples.ts';

/** Where its files are, and those of its certificate. */
export interface ProxyFolder {
  readonly directory: string;
  readonly files: { readonly cert: string; readonly key: string };
  /** Of the certificate. */
  readonly ca: string;
}

/** What runs a sample in the foreground, on another port and before our service. */
export interface HttpProxy {
  readonly name: 'nginx' | 'haproxy';
  prepare(port: number, upstream: string, folder: ProxyFolder): readonly string[];
}

export const httpProxies: readonly HttpProxy[] = [
  {
    name: 'nginx',
    prepare(port, upstream, { directory, files }) {
      const sample = changed(sampleOf('nginx.conf'), {
        'listen 443': `listen 127.0.0.1:${port}`,
        '127.0.0.1:8080': upstream,
        '/etc/ssl/books.example.com.fullchain.pem': files.cert,
        '/etc/ssl/books.example.com.key.pem': files.key,
        '/var/log/nginx/tallybook.log': join(directory, 'access.log'),
      });
      writeFileSync(join(directory, 'tallybook.conf'), sample);
      const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const folders = kinds.map((kind) => `${kind}_temp_path ${directory}/${kind};`).join(' ');
      // Its workers would be another user than ours, who cannot reach the folder of a test: bodies
      // above client_body_buffer_size were 500.
      const user = process.getuid?.() === 0 ? 'user root; ' : '';
      const main = `${user}daemon off; worker_processes 1; pid ${directory}/nginx.pid; events {}
        http { access_log off; ${folders} include ${directory}/tallybook.conf; }`;
      writeFileSync(join(directory, 'nginx.conf'), main);
      return ['-e', 'stderr', '-p', directory, '-c', join(directory, 'nginx.conf')];
    },
  },
  {
    name: 'haproxy',
    prepare(port, upstream, { directory, files }) {
      const both = join(directory, 'both.pem');
      writeFileSync(both, readFileSync(files.cert, 'utf8') + readFileSync(files.key, 'utf8'));
      const sample = changed(sampleOf('haproxy.cfg'), {
        'bind :443': `bind 127.0.0.1:${port}`,
        '/etc/ssl/books.example.com.pem': both,
        'node1 127.0.0.1:8080': `node1 ${upstream}`,
        'maxconn 20000': 'maxconn 100',
        '/dev/log local0': 'stderr format raw local0',
      });
      writeFileSync(join(directory, 'haproxy.cfg'), sample);
      return ['-db', '-f', join(directory, 'haproxy.cfg')];
    },
  },
];

export interface RunningProxy {
  readonly port: number;
  stop(): void;
}

/** Starts a proxy and waits until it passes on what is asked. */
export async function startProxy(
  { name, prepare }: HttpProxy,
  upstream: string,
  folder: ProxyFolder,
  wanted?: number,
): Promise<RunningProxy> {
  const port = wanted ?? (await freePort());
  const command = prepare(port, new URL(upstream).host, folder);
  const proxy = spawn(name, [...command], { ...inPath, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [proxy.stdout, proxy.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  }
  try {
    await expect.poll(() => statusOf(port, folder.ca), { message: output }).toBe(200);
  } catch (error) {
    proxy.kill('SIGTERM');
    throw error;
  }
  return { port, stop: () => proxy.kill('SIGTERM') };
}

function statusOf(port: number, ca: string): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/readyz', ca, agent: false };
    const sent = request(options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sent.on('error', (error) => resolve(String(error))).end();
  });
}
