import { readFileSync, readdirSync } from 'node:fs';
import { startLoad } from './load/generator.ts';
const l = startLoad({host:'127.0.0.1',port:9911,token:'tb_pat_x',products:10000}, process.argv[2] as 'node');
const all=()=>{let sum=0; for(const p of readdirSync('/proc')){ try{ const t=readFileSync(`/proc/${p}/stat`,'utf8'); const f=t.slice(t.lastIndexOf(')')+2).split(' '); if(Number(f[1])===process.pid) sum+=(Number(f[11])+Number(f[12]))*10;}catch{}} return sum};
const me=()=>{const f=readFileSync(`/proc/self/stat`,'utf8').split(') ')[1]!.split(' ');return (Number(f[13])+Number(f[14]))*10};
for (let i=0;i<3;i++){ 
const b=all()+me();
const r=await l.run({method:'POST',path:'/api/v1/inventory/adjustments',body:JSON.stringify({product_id:'prod_xxxxxxxxxxxxxxxxxxxx{product}',location_id:'loc_xxxxxxxxxxxxxxxxxxxxxxxx',target_quantity:'{count}',reason:'stock_count'})},64,3);
console.log(process.argv[2], r.requests/r.seconds, r.errors, 'us/req', (all()+me()-b)*1000/r.total);
}
await l.stop();
