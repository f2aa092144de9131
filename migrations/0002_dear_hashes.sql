-- Hashes of passwords by the CPU that their verification takes, in microseconds: a refusal takes as long as the dearest of them
-- (packages/shared/src/secrets/hash-cost.ts). Those of this provider, which are most, are not in the index.
CREATE INDEX user_passwords_by_cost ON user_passwords (
  CASE substr(hash, 1, 3)
    WHEN '$sc' THEN (1 << CAST(substr(hash, 12) AS INTEGER)) * CAST(substr(hash, instr(hash, ',r=') + 3) AS INTEGER) * CAST(substr(hash, instr(hash, ',p=') + 3) AS INTEGER) * 305 / 1000
    WHEN '$fi' THEN (1 << CAST(substr(hash, 21) AS INTEGER)) * CAST(substr(hash, instr(hash, ',r=') + 3) AS INTEGER) * 305 / 1000
    WHEN '$ar' THEN CAST(substr(hash, instr(hash, '$m=') + 3) AS INTEGER) * CAST(substr(hash, instr(hash, ',t=') + 3) AS INTEGER) * 7
    WHEN '$pb' THEN CAST(substr(hash, instr(hash, '$i=') + 3) AS INTEGER) * CASE WHEN CAST(substr(hash, instr(hash, '$i=') + 3) AS INTEGER) > 100000 THEN 4000 ELSE 600 END / 1000
    WHEN '$le' THEN 0
    ELSE (1 << CAST(substr(hash, 5, 2) AS INTEGER)) * 110
  END
) WHERE substr(hash, 1, 22) <> '$scrypt$ln=14,r=8,p=5$';
