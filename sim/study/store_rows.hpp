// What stands in a store, row by row.
#pragma once
#include "sim/study/sqlite.hpp"
#include "sim/study/store.hpp"

namespace rehearse {

inline constexpr uint32_t kStoreId = 0x52485253;  // SQLite's application_id: "RHRS"

void create_tables(const sqlite::Database& database);

void insert(const sqlite::Database& database, const std::vector<StoredPoint>& points);
void insert(const sqlite::Database& database, const StoredStudy& study);

// Both throw InputErrors (E-STORE-FILE) where a row is not what was written.
std::vector<StoredPoint> read_points(const sqlite::Database& database);
std::vector<StoredStudy> read_studies(const sqlite::Database& database);

}  // namespace rehearse
