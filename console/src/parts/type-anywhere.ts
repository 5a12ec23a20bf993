// A scanner types wherever the page is: what it types goes into one field.

import { type RefObject, useEffect, useRef } from 'react';

export function useTypeAnywhere(): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const type = (event: KeyboardEvent) => {
      const isText = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
      const isElsewhere = document.activeElement?.closest(
        'input, textarea, select, [role=dialog], [role=menu]',
      );
      if (!isText || event.key === ' ' || isElsewhere || field.current === null) return;
      // The letter itself goes into the field, because it has the focus by then.
      field.current.focus();
      field.current.select();
    };
    document.addEventListener('keydown', type);
    return () => document.removeEventListener('keydown', type);
  }, []);
  return field;
}
