// A text to take along: a link, a token. It is shown whole, and copied with one click.

import { Button, Textarea } from '@mantine/core';
import { useRef, useState } from 'react';
import { texts } from '../texts.ts';

interface CopyTextProps {
  readonly label: string;
  readonly text: string;
}

export function CopyText({ label, text }: CopyTextProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    field.current?.focus();
    field.current?.select();
    setCopied(await wasCopied(text));
  };
  return (
    <div>
      <Textarea
        ref={field}
        label={label}
        value={text}
        readOnly
        autosize
        minRows={1}
        maxRows={4}
        spellCheck={false}
        classNames={{ input: 'code' }}
        onFocus={(event) => event.currentTarget.select()}
      />
      <Button mt="xs" size="xs" variant="default" onClick={() => void copy()}>
        <span aria-live="polite">{isCopied ? texts.copied : texts.copy}</span>
      </Button>
    </div>
  );
}

/** A page that came over http has no clipboard: the selected text is copied the old way. */
async function wasCopied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand('copy');
  }
}
