// Gives a text to the person as a file.

export function download(name: string, parts: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...parts], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  // Some browsers read it only later.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
